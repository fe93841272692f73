// The table of contents marks the section that is read: the last one that began.
const links = [...document.querySelectorAll("nav a")];
const sections = links.map((link) => document.querySelector(link.getAttribute("href")));

function follow() {
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2 && scrollY > 0;
  const begun = sections.map((section) => section.getBoundingClientRect().top < 120);
  const current = atEnd ? links.length - 1 : Math.max(0, begun.lastIndexOf(true));
  links.forEach((link, i) => {
    if (i !== current) return link.removeAttribute("aria-current");
    if (link.hasAttribute("aria-current")) return;
    link.setAttribute("aria-current", "true");
    const list = link.closest("nav");
    const seen = link.offsetParent ? link : link.closest("nav > ul > li"); // a phone shows models only
    list.scrollTo({left: seen.offsetLeft - list.clientWidth / 3, top: seen.offsetTop - list.clientHeight / 2});
  });
}

follow();
addEventListener("scroll", follow, {passive: true});
addEventListener("resize", follow);
