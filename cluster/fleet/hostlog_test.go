package fleet

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/ui/uitest"
)

// TestALogOnAFullDiskStopsNothing: what another host says is read to its end, or its
// connection would be taken for lost.
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

// TestLogIsEscaped: another host's words do nothing at the terminal of who reads the log.
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
