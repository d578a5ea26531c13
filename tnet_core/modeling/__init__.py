"""The paper: the configuration, the modules of TNet (section 3.2), one file each, and the forward that joins them."""
