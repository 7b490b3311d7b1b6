package bundle

import (
	"encoding/json"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

// TestBaseValidation: the lock of a delta can name omitted files, and parseIndex
// refuses an inconsistent base.
func TestBaseValidation(t *testing.T) {
	sum := strings.Repeat("1", 64)
	tests := []struct {
		says  string
		spoil func(x *Index)
	}{
		{"", func(*Index) {}},
		{"", func(x *Index) { x.Base.Files = nil; x.Lock.Packages = nil }},
		{"only 2, a delta, has a base", func(x *Index) { x.FormatVersion = 1 }},
		{"only 2, a delta, has a base", func(x *Index) { x.Base = nil }},
		{"format version is 3, this airgap reads 1 and 2", func(x *Index) { x.FormatVersion = 3 }},
		{`base: name "../x"`, func(x *Index) { x.Base.Cluster = "../x" }},
		{`base: name ""`, func(x *Index) { x.Base.Bundles = []string{""} }},
		{`base: path "../p" is not allowed`, func(x *Index) { x.Base.Files[0].Path = "../p" }},
		{`base: duplicate path "files/a"`, func(x *Index) { x.Base.Files[0].Path = "files/a" }},
		{`base: duplicate path "rpm/p"`, func(x *Index) { x.Base.Files = append(x.Base.Files, x.Base.Files[0]) }},
		{`path "files/a" is a file and a directory`, func(x *Index) { x.Base.Files[0].Path = "files/a/b" }},
		{"is not a SHA-256", func(x *Index) { x.Base.Files[0].SHA256 = "x" }},
		{"size -1", func(x *Index) { x.Base.Files[0].Size = -1 }},
		{"size 9223372036854775807", func(x *Index) {
			x.Base.Files = append(x.Base.Files, Held{Path: "rpm/q", Size: 1<<63 - 1, SHA256: sum})
		}},
		{"lock: p-0:1-1.x86_64: rpm/p is not in the bundle as locked", func(x *Index) { x.Lock.Packages[0].Size = 8 }},
	}
	for _, tt := range tests {
		x := smallIndex(t)
		x.FormatVersion = DeltaVersion
		x.Base = &Base{Cluster: "x", Bundles: []string{"x"}, Files: []Held{{Path: "rpm/p", Size: 7, SHA256: sum}}}
		x.Lock.Packages = []Package{{NEVRA: nevra.MustParse("p-0:1-1.x86_64"), Path: "rpm/p", Size: 7, SHA256: sum}}
		tt.spoil(x)
		data, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parseIndex(data)
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("got %v, want %q", err, tt.says)
		}
	}
}
