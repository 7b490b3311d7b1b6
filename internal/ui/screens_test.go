package ui_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

var update = flag.Bool("update", false, "update the golden files")

// Parts of a screen that depend on the time.
var (
	spinner = regexp.MustCompile(`(?m)^[⠀-⣿ ]+(\d+/\d+ )`)
	elapsed = regexp.MustCompile(`\b(\d+m)?\d+s\b`)
)

// shows compares the last rows of a terminal with a golden file. It waits until they are drawn.
func shows(t *testing.T, tty *uitest.Terminal, rows int, name string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	visible := func() string {
		lines := strings.Split(strings.TrimRight(tty.Seen(), "\n"), "\n")
		for i, line := range lines {
			lines[i] = strings.TrimRight(elapsed.ReplaceAllString(spinner.ReplaceAllString(line, "* $1"), "0s"), " ")
		}
		return strings.Join(lines[max(0, len(lines)-rows):], "\n") + "\n"
	}
	if *update {
		time.Sleep(time.Second)
		require.NoError(t, os.WriteFile(path, []byte(visible()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	for end := time.Now().Add(10 * time.Second); visible() != string(want) && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	assert.Equal(t, string(want), visible(), "go test -update writes %s again", path)
}

func node(n int) string { return fmt.Sprintf("node%03d", n) }

// TestScreenOfAnUpgrade: an upgrade of 100 hosts in batches of ten, in its fourth batch, on a terminal of 24 rows. The first
// control-plane host runs the command. A worker has failed, and the batches before are counted.
func TestScreenOfAnUpgrade(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	tty := uitest.Sized(t, 24, 100)
	p := ui.New(tty.File, ui.Bars)
	for n := 2; n <= 100; n++ {
		h := p.Host(node(n))
		h.Step(6, 6, "Copy the files for the upgrade")
		h.End(nil)
	}
	var names []string
	for n := 2; n <= 100; n++ {
		names = append(names, node(n))
	}
	ui.Queue(p, names)
	upgraded := func(from, to int) {
		for n := from; n <= to; n++ {
			h := p.Host(node(n))
			h.Step(12, 12, "Start the kubelet")
			h.End(nil)
		}
	}
	upgraded(2, 16)
	h := p.Host(node(17))
	h.Step(9, 12, "Install the packages")
	h.End(errors.New("step packages: no space left on /var\ndnf needs 300 MB"))
	p.Say("going on without node017: step packages: no space left on /var")
	upgraded(18, 34)
	p.Say("about 49 min left for 66 workers, in batches of 10")
	for n := 35; n <= 44; n++ {
		h := p.Host(node(n))
		h.Step(n-34, 12, "Install the packages")
	}
	p.Step(58, 84, "Upgrade 10 workers: node[035-044]")
	shows(t, tty, 24, "upgrade-of-100-hosts.txt")
	p.Close()
}
