"""The tab 'Compare': two traversals, sent once, set side by side in the browser.

`payload` makes what is sent: both columns, how alike their looks are at every budget, and which classes they share.
`template.html`, `compare.css` and `js/` draw it, on the arithmetic of `viz/common/js`; sliders and the choice of a
class ask nothing of the server.
"""
