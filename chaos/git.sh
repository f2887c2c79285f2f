#!/bin/sh
# The git of a round: an ordinary one, until NOTES/kill-git is there; then the next call is killed in the middle.
if mv NOTES/kill-git NOTES/killed-git 2> /dev/null; then
    exec 3<&0
    GIT "$@" <&3 3<&- &
    sleep "$(cat NOTES/killed-git)"
    kill -9 $!
    wait $!
    exit
fi
exec GIT "$@"
