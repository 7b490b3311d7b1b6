package facts

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/replay"
)

const hostsDir = "../testdata/hosts"

// loadHost loads the recording of a host, on top of the recording that its comment names.
func loadHost(t testing.TB, name string) host.Host {
	t.Helper()
	h, err := replay.Host(readRecording(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func readRecording(t testing.TB, name string) []byte {
	t.Helper()
	data, err := replay.Recording(os.DirFS(hostsDir), name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gather(t testing.TB, name string) *Facts {
	t.Helper()
	facts, err := Gather(context.Background(), loadHost(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func TestReadFactsRefuses(t *testing.T) {
	for _, text := range []string{"", "schema: 0\n", "schema: 2\n", "schema: [1]\n", "- not facts\n"} {
		if _, err := ReadFacts(strings.NewReader(text)); err == nil {
			t.Errorf("ReadFacts(%q) gave no error", text)
		}
	}
}

// A copy that ends at any byte is not the facts of a host with fewer packages.
func TestTruncatedFacts(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, gather(t, "rocky9").Write(&b))
	text := strings.ReplaceAll(b.String(), "\n", "\r\n") // as some editors write it
	_, err := ReadFacts(strings.NewReader(text))
	require.NoError(t, err)
	end := strings.LastIndex(b.String(), "true") + len("true") - 1
	for _, size := range []int{0, 1, len(firstLine), len(firstLine) + 2, b.Len() / 3, b.Len() / 2, end} {
		_, err := ReadFacts(bytes.NewReader(b.Bytes()[:size]))
		require.ErrorIs(t, err, ErrIncomplete, size)
	}
}

// TestRecordReplay: a recording of this machine replays to the same facts.
func TestRecordReplay(t *testing.T) {
	archive, facts, err := record(context.Background(), host.Local{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := replay.Host(archive)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Gather(context.Background(), h)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Facts{facts, again} { // the wording of the reasons differs
		for i := range f.Unknown {
			f.Unknown[i].Reason = ""
		}
	}
	if !reflect.DeepEqual(again, facts) {
		t.Errorf("replayed facts differ:\n%+v\n%+v", facts, again)
	}
}

func TestGatherStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Gather(ctx, loadHost(t, "rocky9")); !errors.Is(err, context.Canceled) {
		t.Errorf("Gather gave %v, want %v", err, context.Canceled)
	}
}

func TestRecordingKeepsNoRegistryPassword(t *testing.T) {
	h, err := replay.Host([]byte("-- fs/proc/self/mountinfo --\n24 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n" +
		"-- fs/sys/fs/cgroup/cgroup.controllers --\ncpu\n-- fs/etc/containerd/config.toml --\n  SystemdCgroup = false\n  password = \"secret\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	archive, facts, err := record(context.Background(), h)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(archive, []byte("secret")) || !bytes.Contains(archive, []byte("SystemdCgroup = false")) {
		t.Errorf("recording:\n%s", archive)
	}
	if len(facts.Unknown) == 0 {
		t.Error("a host without files has no unknown facts")
	}
}

// bare is a host with a few files and no programs.
type bare struct{ files fs.FS }

func (b bare) FS() fs.FS { return b.files }

func (bare) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	return nil, &host.CommandError{Argv: append([]string{cmd.Name}, cmd.Args...), ExitCode: -1, Err: exec.ErrNotFound}
}

// TestUnreadPCITree: a device without a class makes the whole tree unknown, because the driver
// depends on each device. An unreadable tree is unknown, too.
func TestUnreadPCITree(t *testing.T) {
	const card = "sys/bus/pci/devices/0000:17:00.0"
	for name, tree := range map[string]fstest.MapFS{
		"a GPU without a class": {card + "/vendor": {Data: []byte("0x10de\n")}, card + "/device": {Data: []byte("0x2330\n")}},
		"no directory":          {"sys/bus/pci/devices": {Data: []byte("?")}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Gather(t.Context(), bare{tree})
			if err != nil {
				t.Fatal(err)
			}
			if reasons := f.Why("pci"); len(reasons) != 1 || !strings.Contains(reasons[0], "PCI device") {
				t.Errorf("reasons %q of unknown %+v", reasons, f.Unknown)
			}
		})
	}
}
