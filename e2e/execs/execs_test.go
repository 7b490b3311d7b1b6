package execs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWatch starts many programs in a cgroup as fast as possible. Each ends
// immediately. The watcher must report each of them completely.
func TestWatch(t *testing.T) {
	if os.Getenv("AIRGAP_LAB") == "" {
		t.Skip("needs root and perf events: set AIRGAP_LAB=1")
	}
	unified := "/sys/fs/cgroup" // unless v1 is next to it
	if _, err := os.Stat(unified + "/unified/cgroup.procs"); err == nil {
		unified += "/unified"
	}
	dir := filepath.Join(unified, fmt.Sprintf("airgap-test-%d", os.Getpid()))
	inner := filepath.Join(dir, "inner")
	if err := os.MkdirAll(filepath.Join(inner, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove(filepath.Join(inner, "below")); _ = os.Remove(inner); _ = os.Remove(dir) }()
	seen := map[string]Exec{}
	w, err := Watch(dir, func(e Exec) { seen[strings.Join(e.Args, " ")] = e })
	if err != nil {
		t.Fatal(err)
	}
	const many = 500
	began := time.Now()
	script := fmt.Sprintf(`echo $$ >%s/below/cgroup.procs; for i in $(seq %d); do N=v$i /bin/true number $i; done; echo $$ >%s/cgroup.procs`, inner, many, unified)
	if out, err := exec.Command("bash", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(began)
	long := strings.Repeat("x", 2*maxText)
	if err := exec.Command("sh", "-c", `echo $$ >$0/cgroup.procs; exec /bin/true "$1"`, inner, long).Run(); err != nil {
		t.Fatal(err)
	}
	count, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v in %s", count, took)
	for i := range many {
		e, ok := seen[fmt.Sprintf("/bin/true number %d", i+1)]
		if !ok || e.Cut || !strings.Contains(" "+strings.Join(e.Env, " ")+" ", fmt.Sprintf(" N=v%d ", i+1)) {
			t.Fatalf("program %d: %v, %+v", i+1, ok, e)
		}
		if e.Child != "inner" {
			t.Fatalf("program %d ran in %q", i+1, e.Child)
		}
	}
	if count.Lost != 0 || count.Cut != 1 {
		t.Errorf("got %+v, want 1 program cut (its arguments are too long) and 0 lost", count)
	}
}
