package scenario

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Crane returns the path of crane, go-containerregistry's program, which many sites use. It
// builds the program from its module on the first call.
func Crane(ctx context.Context, e *Env) (string, error) {
	path := filepath.Join(e.Cache, "bin", "crane")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "github.com/google/go-containerregistry/cmd/crane")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build crane: %w: %s", err, out)
	}
	return path, nil
}

// cranePush pushes the complete layout to an empty registry of another vendor, as a site
// without airgap would.
func cranePush(ctx context.Context, e *Env, layout string) error {
	crane, err := Crane(ctx, e)
	if err != nil {
		return err
	}
	blobs, err := os.MkdirTemp(e.Work, "registry")
	if err != nil {
		return err
	}
	defer os.RemoveAll(blobs)
	server := httptest.NewServer(registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs)), registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/bank/images:all"
	if out, err := exec.CommandContext(ctx, crane, "push", "--index", layout, to).CombinedOutput(); err != nil {
		return fmt.Errorf("crane push --index: %w: %s", err, out)
	}
	return nil
}
