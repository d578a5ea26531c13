"""The tab 'Explore': one traversal, sent once, that plays in the browser.

`payload` makes what is sent: the picture, the crops, every look's class projections, and the weights of every set of
looks that sliders and steps can show. `template.html`, the style sheets and `js/` draw it; nothing there asks the
server except to steer to a set of looks whose weights were not sent.
"""
