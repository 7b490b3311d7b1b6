package lab

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"
)

// Servers of several runs start and stop at the same time: no server removes the parents
// in which another one is about to create its cgroup.
func TestCgroupsShareTheirParents(t *testing.T) {
	if os.Getenv("AIRGAP_LAB") != "1" {
		t.Skip("makes cgroups: set AIRGAP_LAB=1, as root")
	}
	top := "airgap-t-parents-" + strconv.Itoa(os.Getpid())
	var g errgroup.Group
	for _, path := range []string{"a/node1", "a/node2", "b/node1"} {
		g.Go(func() error {
			c := cgroup{path: filepath.Join(top, path)}
			for range 200 {
				if err := c.create(); err != nil {
					return err
				}
				if err := c.delete(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	tops, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range tops {
		if _, err := os.Stat(filepath.Join(dir, top)); err == nil {
			t.Errorf("left behind: %s", filepath.Join(dir, top))
		}
	}
}
