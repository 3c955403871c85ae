# Two sites on one machine, started with --mesh and nothing else. Runs in a network namespace of its own:
# the mesh listens on every interface, and tests talk to nobody. $1: the binary; $2: `loopback` for a machine
# without a network, which needs an invite, or `network` for one with an interface, where sites find each other.
set -eu
site=$1
ip link set lo up
if [ "$2" = network ]; then
    ip link add name lan0 type veth peer name lan1
    ip addr add 10.9.9.1/24 dev lan0
    ip link set lan0 up
    ip link set lan1 up
fi
mkdir bakery mill
(cd bakery && exec "$site" --mesh --json >banner 2>log) &
bakery=$!
mill=
trap 'kill -9 $bakery $mill 2>/dev/null || true; wait' EXIT

# Tries a command twice a second for two minutes.
until_true() {
    for _ in $(seq 240); do
        if "$@" >out 2>err; then return 0; fi
        sleep 0.5
    done
    echo "never: $*"; cat out err bakery/log mill/log; return 1
}
started() { grep -q url "$1/banner"; }
invited() { (cd bakery && "$site" peer invite --json) | grep -o 'agentsite://join/[A-Za-z0-9_-]*' >link; }
joined() { link=$(cat link) && (cd mill && "$site" peer join "$link"); }
connected() { (cd mill && "$site" peer ls --json) | grep -q '"connected": *true'; }
called() { [ "$(cd mill && "$site" call "calc@$did" '6 * 7')" = 42 ]; }

until_true started bakery
(cd mill && exec "$site" --mesh --json >banner 2>log) &
mill=$!
until_true started mill
until_true invited
did=$(cd bakery && "$site" identity show --json | grep -o 'did:key:[A-Za-z0-9]*' | head -1)
if [ "$2" = loopback ]; then until_true joined; fi
until_true connected
until_true called
grep -h 'in use' mill/log
echo "the agent of the other site answered"
