"""Install: the installed Spark and Java, and what is made for them once: compiled helpers and archived classes."""
