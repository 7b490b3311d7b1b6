package medium

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/host"
)

// command returns the words of the command that the advice prints first.
func (m *Medium) command() []string {
	first, _, _ := strings.Cut(m.format(), " (or ")
	return strings.Fields(first)
}

// refusedBy are the reasons of servers of EL 8 and EL 9.
func refusedBy(s super, kind string) (all []string) {
	m := Medium{Type: kind, Features: s.features()}
	for _, server := range []Server{{Facts: el8()}, {Facts: el9(2)}, {OS: "el8"}} {
		for _, f := range m.judge(server) {
			all = append(all, f.text)
		}
	}
	return all
}

// madeByXFS is the superblock of an mkfs.xfs that sets every feature of its time, except those that the command
// switches off. unknown are the names that it refuses.
func madeByXFS(version [2]int, command []string) (s super, unknown []string) {
	s = make(super, superSize)
	copy(s, "XFSB")
	off := map[string]bool{}
	for _, word := range command {
		for option := range strings.SplitSeq(word, ",") {
			if name, is := strings.CutSuffix(option, "=0"); is {
				off[name] = true
			}
		}
	}
	for at, bits := range map[int][]bit{216: xfsIncompat(), 212: xfsReadOnly()} {
		field := uint32(0)
		for _, b := range bits {
			switch {
			case older(version, b.Since) && off[b.Name]:
				unknown = append(unknown, b.Name)
			case !older(version, b.Since) && !off[b.Name]:
				field |= b.bit
			}
		}
		binary.BigEndian.PutUint32(s[at:], field)
	}
	return s, unknown
}

// TestFormatXFS: the command of the advice makes a medium that the servers accept, with each release of mkfs.xfs.
func TestFormatXFS(t *testing.T) {
	newest := make([]Feature, 0, len(xfsIncompat()))
	for _, b := range xfsIncompat() {
		newest = append(newest, b.Feature)
	}
	for _, version := range [][2]int{{5, 10}, {5, 19}, {6, 1}, {6, 10}, {6, 13}, {6, 15}, {7, 0}} {
		plain, _ := madeByXFS(version, nil)
		require.NotEmpty(t, refusedBy(plain, "xfs"), version)
		for name, m := range map[string]Medium{
			"by the version of mkfs.xfs":     {Type: "xfs", Mkfs: version},
			"by the features of this medium": {Type: "xfs", Features: slices.DeleteFunc(slices.Clone(newest), func(f Feature) bool { return older(version, f.Since) })},
		} {
			if m.Mkfs == [2]int{} && older(version, [2]int{5, 19}) {
				continue // the advice is for EL 9 or later
			}
			made, unknown := madeByXFS(version, m.command())
			assert.Empty(t, unknown, "%v, %s: %s", version, name, m.format())
			assert.Empty(t, refusedBy(made, "xfs"), "%v, %s: %s", version, name, m.format())
		}
	}
	m := Medium{Type: "xfs", Device: "/dev/sdb1", Mkfs: [2]int{6, 10}}
	assert.Equal(t, "mkfs.xfs -f -m bigtime=0,inobtcount=0 -i nrext64=0,exchange=0 -n parent=0 /dev/sdb1 (or mkfs.vfat -F 32 /dev/sdb1)", m.format())
}

// TestFormatRuns runs the commands of the advice with the programs of this host.
func TestFormatRuns(t *testing.T) {
	for kind, from := range map[string][]string{
		"xfs":  {"mkfs.xfs", "-q", "-f", "-m", "bigtime=1,inobtcount=1"},
		"ext4": {"mkfs.ext4", "-q", "-F", "-O", "casefold,orphan_file"},
	} {
		bundletest.Need(t, from[0])
		image := filepath.Join(t.TempDir(), "image")
		require.NoError(t, os.WriteFile(image, nil, 0o600))
		require.NoError(t, os.Truncate(image, 320<<20))
		run := func(command []string) super {
			out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			text, err := os.ReadFile(image)
			require.NoError(t, err)
			return text[:superSize]
		}
		before := run(append(from, image))
		require.NotEmpty(t, refusedBy(before, kind))
		m := Medium{Type: kind, Device: image, Features: before.features()}
		if kind == "xfs" {
			m.Mkfs = mkfsXFS(t.Context(), host.Local{})
			require.NotZero(t, m.Mkfs)
		}
		assert.Empty(t, refusedBy(run(append(m.command(), forced(kind)...)), kind), m.format())
	}
}

// forced makes mkfs accept a file with a file system without a question.
func forced(kind string) []string {
	if kind == "ext4" {
		return []string{"-F"}
	}
	return nil
}
