# equal EXPECTED ACTUAL
equal() {
    if [ "$1" != "$2" ]; then
        echo "$test: expected '$1', got '$2'" >&2
        exit 1
    fi
}
