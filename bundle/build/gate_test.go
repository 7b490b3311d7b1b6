package build

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/media"
)

func TestPartSizeFor(t *testing.T) {
	for _, test := range []struct {
		asked, limit string
		want         int64
	}{
		{"", "", 4095 << 20},
		{"", "1900MiB", 1900 << 20},
		{"", "2GB", 1907 << 20},
		{"", "10GiB", 4095 << 20},
		{"", "50MiB", 64 << 20},
		{"128MiB", "1900MiB", 128 << 20},
		{"4095MiB", "1900MiB", 4095 << 20},
	} {
		got, err := partSizeFor(test.asked, &media.Gate{MaxFileSize: test.limit})
		require.NoError(t, err)
		require.Equal(t, test.want, got, "%+v", test)
	}
	got, err := partSizeFor("", nil)
	require.NoError(t, err)
	require.EqualValues(t, 4095<<20, got)
}

func TestGateWarnings(t *testing.T) {
	stick := []bundle.StickFile{bundle.StickBytes("airgap", make([]byte, 1000)), bundle.StickBytes("INSTALL.txt", nil)}
	for _, test := range []struct {
		name string
		gate *media.Gate
		part int64
		want []string // in this order, all of them
	}{
		{"no gate", nil, 4095 << 20, nil},
		{"a gate without limits", &media.Gate{}, 4095 << 20, nil},
		{"parts that fit", &media.Gate{MaxFileSize: "1900MiB", OpensArchives: true}, 1900 << 20, nil},
		{"large parts", &media.Gate{MaxFileSize: "50MiB"}, 64 << 20, []string{"at most 50MiB, and a part has up to 67.1 MB", "airgap pack --size 50MiB --ext .zip DIR OUT"}},
		{"extensions", &media.Gate{Extensions: []string{".pdf", ".dat", ".txt"}}, 64 << 20, []string{"SHA256SUMS, SHA256SUMS.sig, airgap, airgap.pub, bundle.json and bundle.tar.000", "--ext .dat"}},
		{"changes", &media.Gate{Changes: []string{"names", "programs", "text"}, OpensArchives: true}, 64 << 20, []string{"renames", "removes programs", "converts text", "look into", "airgap pack"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := gateWarnings(test.gate, test.part, stick)
			require.Len(t, got, len(test.want), "%q", got)
			for i, want := range test.want {
				require.True(t, strings.HasPrefix(got[i], "media.gate: "))
				require.Contains(t, got[i], want)
			}
		})
	}
}
