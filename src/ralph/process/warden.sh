# The warden: `warden.sh RALPH HOME GROUP COMMAND…`. It waits on its standard input, a pipe that only Ralph holds. If the
# pipe ends without a line, Ralph is dead, and the warden becomes COMMAND, which ends all that Ralph left running.
# HOME and GROUP are control groups: Ralph's own, and the one that Ralph and its programs are moved to; or empty.
exec 3<&0
(
    trap '' HUP INT QUIT TERM TSTP TTIN TTOU
    ralph=$1 home=$2 group=$3
    shift 3
    if [ "$group" ]; then
        echo 0 >"$home/cgroup.procs"
        echo "$ralph" >"$group/cgroup.procs"
    fi
    read -r over || exec "$@"
    [ "$group" ] || exit
    echo "$ralph" >"$home/cgroup.procs"
    for try in 1 2 3 4 5; do
        rmdir "$group" && exit
        sleep 0.2
    done
) <&3 3<&- >/dev/null & # this shell exits now, so that the warden is no child of Ralph's
echo $! # its number, for Ralph
