"""The studio: one page in a browser, and the server behind it. It shows, and computes nothing.

schemas.py      what the server answers, as types
shelf.py        the models that are open
results.py      tables that were reproduced
likelihoods.py  what `mindseye evaluate` has written about models of pictures
linkscores.py   and what about models of graphs
engine.py       one thread in which models work; requests that wait are answered together
background.py   works of minutes beside it
answers.py      pictures, verdicts and scores on their way to the page
house.py        what every route shares: shelf, engine, parameters
points.py       a point of the latent space, as a request names it
limits.py       what a request may cost, and who may ask
views/          one module for each view: its routes, and which models it can show
server.py       all of it as one application
static/         the page: plain ES modules, one for each view
"""
