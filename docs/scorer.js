// Search: pages that answer a question come first, then those about a tool that somebody names;
// those that list parameters or measurements come last.
const FIRST = /^(guide|roles|start)\b/;
const TOOLS = /^(files|language-models|pytorch|scikit-learn|tracking)\b/;
const LAST = /^(reference|gallery|api|architecture|benchmarks|json|notation|paper|peers|questions)\b/;

var Scorer = {
  score: ([page, , , , score]) =>
    score + (FIRST.test(page) ? 12 : TOOLS.test(page) ? 6 : LAST.test(page) ? -6 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
