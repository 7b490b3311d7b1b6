package bundle

import (
	"encoding/json"
	"strings"
	"testing"
)

// smallIndex is valid: one file in one part.
func smallIndex(t testing.TB) *Index {
	t.Helper()
	sum := strings.Repeat("0", 64)
	l, err := layOut([]Entry{{Path: "files/a", Size: 5, SHA256: sum}, {Path: "files/b", Size: 700, SHA256: sum}}, ChunkSize)
	if err != nil {
		t.Fatal(err)
	}
	parts := l.parts()
	parts[0].SHA256, parts[0].Chunks = sum, make([]byte, 32)
	return &Index{FormatVersion: FormatVersion, Name: "x", Parts: parts, Files: l.entries,
		Lock: Lock{Files: []File{{Name: "a", Path: "files/a", Size: 5, SHA256: sum}}}}
}

// addonOf has its objects in an existing file.
func addonOf(f File) Addon { return Addon{Name: "cash", Path: f.Path, Size: f.Size, SHA256: f.SHA256} }

func TestIndexValidation(t *testing.T) {
	tests := []struct {
		says  string
		spoil func(x *Index)
	}{
		{"", func(*Index) {}},
		{`name "../x"`, func(x *Index) { x.Name = "../x" }},
		{"no parts", func(x *Index) { x.Parts = nil }},
		{`part 0 has name "/etc/shadow"`, func(x *Index) { x.Parts[0].Name = "/etc/shadow" }},
		{"size -1", func(x *Index) { x.Parts[0].Size = -1 }},
		{"hashes are incomplete", func(x *Index) { x.Parts[0].Chunks = nil }},
		{"hashes are incomplete", func(x *Index) { x.Parts[0].Size = 1 << 62 }},
		{`path "../a" is not allowed`, func(x *Index) { x.Files[0].Path = "../a" }},
		{`path "/a" is not allowed`, func(x *Index) { x.Files[0].Path = "/a" }},
		{`path "a\\b" is not allowed`, func(x *Index) { x.Files[0].Path = `a\b` }},
		{`duplicate path "files/a"`, func(x *Index) { x.Files[1].Path = "files/a" }},
		{`path "files/a" is a file and a directory`, func(x *Index) { x.Files[1].Path = "files/a/b" }},
		{"is before the end of the previous file", func(x *Index) { x.Files[1].Offset = 512 }},
		{"offset 1", func(x *Index) { x.Files[0].Offset = 1 }},
		{"goes beyond the parts", func(x *Index) { x.Files[1].Size = 1 << 62 }},
		{"size -5", func(x *Index) { x.Files[0].Size = -5 }},
		{"is not a SHA-256", func(x *Index) { x.Files[0].SHA256 = "x" }},
		{"lock: a: files/a is not in the bundle as locked", func(x *Index) { x.Lock.Files[0].Size = 6 }},
		{"", func(x *Index) { x.Lock.Addons = []Addon{addonOf(x.Lock.Files[0])} }},
		{"lock: duplicate add-on cash", func(x *Index) { x.Lock.Addons = []Addon{addonOf(x.Lock.Files[0]), addonOf(x.Lock.Files[0])} }},
		{"", func(x *Index) { x.Lock.Network = &Network{Addon: addonOf(x.Lock.Files[0])} }},
		{"lock: duplicate add-on cash", func(x *Index) {
			x.Lock.Network = &Network{Addon: addonOf(x.Lock.Files[0])}
			x.Lock.Addons = []Addon{{Name: "cash", Path: "manifests/cash.yaml"}}
		}},
		{"lock: network calico: network/calico.yaml is not in the bundle as locked", func(x *Index) { x.Lock.Network = &Network{Addon: Addon{Name: "calico", Path: "network/calico.yaml"}} }},
		{"lock: add-on cash: manifests/cash.yaml is not in the bundle as locked", func(x *Index) { x.Lock.Addons = []Addon{{Name: "cash", Path: "manifests/cash.yaml"}} }},
		{"lock: chart till: charts/till.tgz is not in the bundle as locked", func(x *Index) {
			a := addonOf(x.Lock.Files[0])
			a.Chart = &Chart{Name: "till", Path: "charts/till.tgz"}
			x.Lock.Addons = []Addon{a}
		}},
		{"its first blob is not", func(x *Index) { x.Lock.Images = []Image{{Name: "i"}} }},
	}
	for _, tt := range tests {
		x := smallIndex(t)
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

// FuzzOpenIndex: accepted files stay in the parts and the directory.
func FuzzOpenIndex(f *testing.F) {
	data, err := json.Marshal(smallIndex(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"formatVersion":1,"parts":[{"name":"bundle.tar.000","size":9223372036854775807}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := parseIndex(data)
		if err != nil {
			return
		}
		var total, end int64
		for _, p := range x.Parts {
			total += p.Size
			if !isPlainName(p.Name) || int64(len(p.Chunks)) != chunkCount(p.Size)*32 {
				t.Errorf("part %+v", p)
			}
		}
		for _, e := range x.Files {
			if e.Offset < end || e.Size < 0 || e.Offset+e.Size > total || strings.Contains("/"+e.Path+"/", "/../") || e.Path[0] == '/' {
				t.Errorf("file %+v of %d bytes", e, total)
			}
			end = e.Offset + e.Size
		}
		newFiles(x.Files, nil)
	})
}

// FuzzSums: accepted sums are written again without changes except the order.
func FuzzSums(f *testing.F) {
	f.Add(strings.Repeat("a", 64) + "  bundle.json\n")
	f.Add("../x")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSums(text)
		if err != nil {
			return
		}
		again, err := parseSums(s.String())
		if err != nil || len(again) != len(s) {
			t.Errorf("%q: %v", text, err)
		}
		for name := range s {
			if strings.ContainsAny(name, "/\\\n") || name[0] == '.' {
				t.Errorf("name %q", name)
			}
		}
	})
}

func TestLayoutMatchesTar(t *testing.T) {
	long := "files/" + strings.Repeat("directory/", 20) + "x"
	files := []Entry{{Path: "a", Size: 0}, {Path: long, Size: 513}, {Path: "huge", Size: 9 << 30}} // the last one needs an extended header
	l, err := layOut(files, 3*ChunkSize)
	if err != nil {
		t.Fatal(err)
	}
	if l.entries[0].Offset != 512 || l.entries[2].Offset != 2048+1536 || l.size%tarBlock != 0 {
		t.Errorf("entries %+v, size %d", l.entries, l.size)
	}
	var at int64
	for _, p := range l.pieces {
		if p.offset != at || p.size <= 0 || p.offset/l.partSize != (p.offset+p.size-1)/l.partSize {
			t.Fatalf("piece %+v, want offset %d and one part", p, at)
		}
		at += p.size
	}
	parts := l.parts()
	if at != l.size || parts[len(parts)-1].Name != partName(len(parts)-1, len(parts)) || parts[0].Name != "bundle.tar.0000" {
		t.Errorf("%d bytes in pieces, want %d; first part %+v of %d", at, l.size, parts[0], len(parts))
	}
	if from, to := l.piecesOf(0); from != to {
		t.Errorf("an empty file has pieces %d to %d", from, to)
	}
}
