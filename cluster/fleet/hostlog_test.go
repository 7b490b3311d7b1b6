package fleet

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/ui/uitest"
)

// TestALogOnAFullDiskStopsNothing: all output of another host is read even if the log cannot be written.
// Otherwise airgap would report a lost connection.
func TestALogOnAFullDiskStopsNothing(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	log := newLog(full)
	defer log.Close()
	if n, err := io.Copy(struct{ io.Writer }{log}, strings.NewReader("node2: joined\n")); n != 14 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestLogIsEscaped: control sequences from another host have no effect in the terminal that displays the log.
func TestLogIsEscaped(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "node2.log"))
	if err != nil {
		t.Fatal(err)
	}
	log := newLog(file)
	_, _ = io.WriteString(log, uitest.Evil+"\n")
	log.note("%s", uitest.Evil)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil || uitest.ActsOn(string(text)) || strings.Count(string(text), `\u001b]52;c;AA`) != 2 {
		t.Errorf("%q, %v", text, err)
	}
}
