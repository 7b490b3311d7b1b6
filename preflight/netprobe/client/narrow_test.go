package client_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netns"

	"airgap.dev/airgap/internal/netnstest"
	"airgap.dev/airgap/preflight/netprobe/client"
)

// TestMain makes the test binary a client in a network namespace.
func TestMain(m *testing.M) {
	address := os.Getenv("NETPROBE_CLIENT")
	if address == "" {
		os.Exit(m.Run())
	}
	r, err := client.Run(context.Background(), client.Options{Targets: []client.Target{{Kind: client.API, Address: address}}})
	if err == nil {
		err = r.Write(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestNarrowPath: a path that loses large packets is named, and one with a small MTU works.
func TestNarrowPath(t *testing.T) {
	t.Parallel()
	netnstest.NeedRoot(t)
	for i, test := range []struct{ name, change, want string }{
		{"lost", `nft -f - <<'END'
table ip test {
chain c {
type filter hook input priority 0; policy accept;
ip length > 1400 drop
}
}
END`, " bytes: large packets are lost"},
		{"small", "ip link set eth0 mtu 1300", "64 KiB arrive in packets of 12"},
	} {
		t.Run(test.name, func(t *testing.T) {
			user, server := fmt.Sprintf("agc%d-%d-u", os.Getpid(), i), fmt.Sprintf("agc%d-%d-s", os.Getpid(), i)
			t.Cleanup(func() { _ = exec.Command("sh", "-c", "ip netns del "+user+"; ip netns del "+server).Run() })
			script := fmt.Sprintf(`ip netns add %[1]s; ip netns add %[2]s
ip link add eth0 netns %[1]s type veth peer name eth0 netns %[2]s
ip -n %[1]s address add 10.98.0.1/24 dev eth0; ip -n %[2]s address add 10.98.0.2/24 dev eth0
ip -n %[1]s link set eth0 up; ip -n %[2]s link set eth0 up
ip netns exec %[2]s sh -e <<'INSIDE'
%[3]s
INSIDE`, user, server, test.change)
			if out, err := exec.Command("sh", "-ec", script).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			address := serveIn(t, server)
			cmd := exec.CommandContext(t.Context(), "ip", "netns", "exec", user, os.Args[0])
			cmd.Env = append(os.Environ(), "NETPROBE_CLIENT="+address)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), test.want) {
				t.Errorf("%v, no %q in\n%s", err, test.want, out)
			}
		})
	}
}

// serveIn starts a server in a namespace. A socket stays in the namespace that created it.
func serveIn(t *testing.T, space string) string {
	t.Helper()
	at, err := netns.GetFromName(space)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	listening := make(chan error)
	var listener net.Listener
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := netns.Set(at)
		if err == nil {
			listener, err = net.Listen("tcp4", "10.98.0.2:0")
		}
		listening <- err
	}()
	if err := <-listening; err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }))
	s.Listener.Close()
	s.Listener, s.TLS = listener, &tls.Config{ClientAuth: tls.RequestClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return listener.Addr().String()
}
