"""`make bench`: what Ralph costs beside what it is compared with, on real git repositories."""
