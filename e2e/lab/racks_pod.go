package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Pod is a program on a host, with the user, the environment and the ServiceAccount that a
// kubelet gives to a pod without privileges.
type Pod struct {
	Program   string
	Env       []string // NAME=VALUE
	APIServer string   // ADDRESS:PORT outside of the namespaces; no fault is on the way to it
	CA        string   // file
	Token     string
}

// asPod is a shell script that runs a program as a pod. untilThePipeEnds would give the pod
// time for its end.
const asPod = `set -e
for f in resolv.conf hosts; do mount --bind "$0/$f" "/etc/$f"; done
mount -t tmpfs tmpfs /run
account=/run/secrets/kubernetes.io/serviceaccount
mkdir -p "$account"
cp "$0/token" "$0/ca.crt" "$account"
cp "$1" /run/program
shift
env -i "$@" setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all /run/program &
read -r _ || true
kill -KILL $!
wait`

// podAPI is the address of the API server in the namespace of a host.
var podAPI = netip.MustParseAddrPort("127.0.0.1:6443")

// RunPod runs a pod in the network of a host until Close. The pod's output is in HOST.log in Dir.
func (r *Racks) RunPod(ctx context.Context, host string, p Pod) error {
	ca, err := os.ReadFile(p.CA)
	if err := errors.Join(err, r.Write(host, "ca.crt", string(ca)), r.Write(host, "token", p.Token)); err != nil {
		return err
	}
	if err := r.Accept(ctx, host, podAPI, func(conn net.Conn) { relay(ctx, conn, p.APIServer) }); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.dir, host+".log"))
	if err != nil {
		return err
	}
	defer out.Close() // the program has its own descriptor
	env := append([]string{"KUBERNETES_SERVICE_HOST=" + podAPI.Addr().String(), fmt.Sprintf("KUBERNETES_SERVICE_PORT=%d", podAPI.Port())}, p.Env...)
	cmd := exec.Command("nsenter", append([]string{"--net=" + nsPath(r.space(host)), "unshare", "--mount", "--propagation", "private",
		"sh", "-c", asPod, r.hostDir(host), p.Program}, env...)...)
	cmd.Stdout, cmd.Stderr = out, out
	return r.start(cmd)
}

// relay connects a connection to an address outside of the namespaces.
func relay(ctx context.Context, conn net.Conn, to string) {
	defer conn.Close()
	far, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return // the pod reports that the API server does not answer
	}
	defer far.Close()
	go func() {
		_, _ = io.Copy(far, conn)
		far.Close()
	}()
	_, _ = io.Copy(conn, far)
}

// Alias adds names to the /etc/hosts of a host.
func (r *Racks) Alias(host string, addr netip.Addr, names ...string) error {
	f, err := os.OpenFile(filepath.Join(r.hostDir(host), etcHosts), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, addr, strings.Join(names, " "))
	return errors.Join(err, f.Close())
}
