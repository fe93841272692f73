"""Pictures as data: what is drawn where, in what look, and what is said about it.

A `Picture` is made from a diagram here, once; `static` draws it with matplotlib and `charts` as
SVG. Neither of them computes anything.
"""

from calibrant.diagrams.pictures.binary import bins_picture, curve_picture
from calibrant.diagrams.pictures.picture import Picture
from calibrant.diagrams.pictures.plane import plane_picture
from calibrant.diagrams.pictures.simplex import simplex_picture

__all__ = ["Picture", "bins_picture", "curve_picture", "plane_picture", "simplex_picture"]
