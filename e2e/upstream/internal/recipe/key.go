package recipe

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

// Compiler returns the Go release that builds the recipes, such as "go1.26.4".
func Compiler(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("run go env: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Key identifies the result of Build with that compiler.
func (r Recipe) Key(root, compiler string) (string, error) {
	sources, err := stage.KeyOfTree(filepath.Join(root, r.Dir))
	if err != nil {
		return "", fmt.Errorf("hash recipe %s: %w", r.Name, err)
	}
	return stage.Key(compiler, sources, r)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
