// Package fields holds kubeadm/fields to the types of the Kubernetes modules.
package fields

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/e2e/upstream/internal/recipe"
)

var update = flag.Bool("update", false, "write kubeadm/fields from the modules")

// TestFields compares the lists by which airgap checks overrides with the types
// of each minor's own module.
func TestFields(t *testing.T) { compare(t, "print.go", "") }

// TestArguments does so with the arguments of the control plane's programs. That
// compiles most of Kubernetes, three times: kubeadm's tests ask the lab's programs.
func TestArguments(t *testing.T) {
	if !*update {
		t.Skip("it takes long: with -update only")
	}
	compare(t, "arguments.go", "-arguments")
}

func compare(t *testing.T, source, suffix string) {
	program, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []recipe.Cluster{recipe.Before(), recipe.Current(), recipe.After()} {
		t.Run(c.Minor, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "run", program)
			cmd.Dir, cmd.Stderr = filepath.Join("..", c.Recipes()[0].Dir[len("upstream/"):]), os.Stderr
			is, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("../../../kubeadm/fields", c.Minor+suffix+".json")
			if *update {
				if err := os.WriteFile(file, is, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			has, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(has) != string(is) {
				t.Errorf("%s is not what Kubernetes %s has: go test ./upstream/fields -update", file, c.Kubernetes)
			}
		})
	}
}
