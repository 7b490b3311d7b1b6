package hosttest

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	"airgap.dev/airgap/internal/host"
)

// ServeCRI answers at containerd's socket of the machine.
func ServeCRI(t *testing.T, m host.Machine, register func(*grpc.Server)) {
	t.Helper()
	socket := m.Path("/run/containerd/containerd.sock")
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}
