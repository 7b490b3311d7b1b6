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
		part parts
		want []string // in this order, all of them
	}{
		{"no gate", nil, parts{4095 << 20, 3}, nil},
		{"a gate without limits", &media.Gate{}, parts{4095 << 20, 3}, nil},
		{"a part that fits", &media.Gate{MaxFileSize: "1900MiB", OpensArchives: true}, parts{1900 << 20, 1}, nil},
		{"parts that fit", &media.Gate{MaxFileSize: "1900MiB"}, parts{1900 << 20, 3}, nil},
		{"parts that fit and cannot be opened", &media.Gate{MaxFileSize: "1900MiB", OpensArchives: true}, parts{1900 << 20, 3},
			[]string{"cannot look into one of the 3 parts alone, because they are cut from one tar: agree with its owner that it scans the whole bundle (cat bundle.tar.* | tar x)"}},
		{"large parts", &media.Gate{MaxFileSize: "50MiB"}, parts{64 << 20, 1}, []string{"at most 50MiB, and a part has up to 67.1 MB", "airgap pack --size 50MiB --ext .zip DIR OUT"}},
		{"extensions", &media.Gate{Extensions: []string{".pdf", ".dat", ".txt"}}, parts{64 << 20, 1},
			[]string{"SHA256SUMS, SHA256SUMS.sig, airgap, airgap.pub, bundle.json and bundle.tar.000", "--ext .dat"}},
		{"extensions that airgap pack cannot write", &media.Gate{Extensions: []string{".pdf", ".txt"}}, parts{64 << 20, 1},
			[]string{"accepts only .pdf and .txt", "airgap pack can write none of .pdf and .txt, because a gate expects their formats: ask the owner of the gate to accept .zip"}},
		{"changes", &media.Gate{Changes: []string{"names", "programs", "text"}, OpensArchives: true}, parts{64 << 20, 1},
			[]string{"renames", "removes programs", "converts text", "cannot look into a piece of airgap pack: agree with its owner that it scans the whole bundle before airgap pack", "airgap pack --size"}},
		{"changes, several parts", &media.Gate{Changes: []string{"names"}, OpensArchives: true}, parts{64 << 20, 2},
			[]string{"renames", "one of the 2 parts alone, because they are cut from one tar, or into a piece of airgap pack: agree", "airgap pack --size"}},
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
