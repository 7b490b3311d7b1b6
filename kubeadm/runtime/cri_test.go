package runtime

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// imageService is a fake runtime at the machine's socket that has every image.
type imageService struct {
	runtimeapi.UnimplementedImageServiceServer

	calls  []string
	fail   error
	images map[string]bool // image: whether it is pinned

	digests map[string]string // digests of the images that have one
	comes   map[string]string // digests of images after a pull
}

func newRuntime(t *testing.T, m host.Machine) *imageService {
	t.Helper()
	service := &imageService{images: map[string]bool{}, digests: map[string]string{}}
	hosttest.ServeCRI(t, m, func(server *grpc.Server) { runtimeapi.RegisterImageServiceServer(server, service) })
	return service
}

func (s *imageService) PullImage(_ context.Context, r *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	s.calls = append(s.calls, "pull "+r.Image.Image)
	if digest, is := s.comes[r.Image.Image]; is {
		s.images[r.Image.Image], s.digests[r.Image.Image] = false, digest
	}
	return &runtimeapi.PullImageResponse{}, s.fail
}

func (s *imageService) RemoveImage(_ context.Context, r *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	s.calls = append(s.calls, "remove "+r.Image.Image)
	return &runtimeapi.RemoveImageResponse{}, nil
}

// TestPullStep checks that the step pulls after a change of a file, and removes the image again.
func TestPullStep(t *testing.T) {
	f, m := hosttest.New(t)
	const mirrors = "/etc/containerd/certs.d/_default/hosts.toml"
	step := PullStep(m, "airgap.invalid/canary:1", mirrors)
	hosttest.MustBeDone(t, step.Done, false) // no runtime yet
	f.Put(t, containerdConfig, "version = 3\n")
	f.Put(t, mirrors, "server = 'https://10.0.0.1:5000'\n")
	if err := step.Run(t.Context()); err == nil {
		t.Error("no program listens: got no error")
	}
	hosttest.MustBeDone(t, step.Done, false)
	runtime := newRuntime(t, m)
	if err := step.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, step.Done, true)
	if got := strings.Join(runtime.calls, ", "); got != "pull airgap.invalid/canary:1, remove airgap.invalid/canary:1" {
		t.Errorf("the runtime got the calls %s", got)
	}
	runtime.fail = errors.New("x509: certificate signed by unknown authority")
	f.Put(t, mirrors, "server = 'https://10.0.0.2:5000'\n")
	hosttest.MustBeDone(t, step.Done, false)
	if err := step.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "unknown authority") || !strings.Contains(err.Error(), "airgap.invalid/canary:1") {
		t.Errorf("got %v", err)
	}
	if err := step.Undo(t.Context()); err != nil || f.Has(pulledFile) {
		t.Errorf("after Undo: %v", err)
	}
}
