// Package fields compares kubeadm/fields with the types of the Kubernetes modules.
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

// TestFields compares the lists with which airgap checks overrides with the types in the
// Kubernetes module of each minor.
func TestFields(t *testing.T) { compare(t, "print.go", "") }

// TestArguments compares the arguments of the control plane's programs. It compiles most of
// Kubernetes three times, so it runs only with -update. The tests of kubeadm compare the lists
// with the lab's programs.
func TestArguments(t *testing.T) {
	if !*update {
		t.Skip("compiles Kubernetes three times: run it with -update")
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
			got, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("../../../kubeadm/fields", c.Minor+suffix+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != string(got) {
				t.Errorf("%s differs from Kubernetes %s: run go test ./upstream/fields -update", file, c.Kubernetes)
			}
		})
	}
}
