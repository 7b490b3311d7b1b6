package facts

import (
	"slices"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/internal/nevra"
)

func TestReadInstalledByAirgap(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []nevra.Text
		fails      bool
	}{
		{"no installation yet", "", nil, false},
		{"packages", `{"packages":[{"epoch":2,"version":"1.4","release":"1.el9","name":"conntrack-tools","arch":"x86_64"},` +
			`{"version":"1.36.3","release":"1","name":"kubelet","arch":"x86_64"}],"keys":["gpg-pubkey-1-2"]}`,
			[]nevra.Text{nevra.MustParse("conntrack-tools-2:1.4-1.el9.x86_64"), nevra.MustParse("kubelet-0:1.36.3-1.x86_64")}, false},
		{"truncated", `{"packages":[`, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := fstest.MapFS{}
			if tc.text != "" {
				files[installedFile] = &fstest.MapFile{Data: []byte(tc.text)}
			}
			var f Facts
			err := readInstalledByAirgap(t.Context(), reader{fs: files}, &f)
			if (err != nil) != tc.fails || !slices.Equal(f.InstalledByAirgap, tc.want) {
				t.Errorf("got %q, %v, want %q", f.InstalledByAirgap, err, tc.want)
			}
		})
	}
}
