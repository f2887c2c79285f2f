test=first
. tests/lib.sh
equal a "$(printf 'a\nb\n' | sh bin/first)"
