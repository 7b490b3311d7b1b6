package altered

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIsJunk(t *testing.T) {
	for name, want := range map[string]bool{
		"._bundle.json": true, ".DS_Store": true, "THUMBS.DB": true, "desktop.ini": true, "System Volume Information": true, "$RECYCLE.BIN": true,
		".Trash-1000": true, ".fseventsd": true, ".Spotlight-V100": true, "lost+found": true, ".nfs000000001": true,
		"bundle.json": false, "SHA256SUMS": false, ".airgap-partial": false, "notes.txt": false,
	} {
		assert.Equal(t, want, IsJunk(name), name)
	}
}

func TestFind(t *testing.T) {
	for _, test := range []struct {
		entries    []string
		name, want string
	}{
		{[]string{"bundle.json", "BUNDLE.JSON"}, "bundle.json", "bundle.json"},
		{[]string{"BUNDLE.JSON"}, "bundle.json", "BUNDLE.JSON"},
		{[]string{"BUNDLE.JSON;1", "AIRGAP.;1"}, "airgap", "AIRGAP.;1"},
		{[]string{"sha256sums"}, "SHA256SUMS", "sha256sums"},
		{[]string{"Bundle.json", "BUNDLE.JSON"}, "bundle.json", ""}, // which one is unknown
		{[]string{"BUNDLE.JSO"}, "bundle.json", ""},
		{nil, "bundle.json", ""},
	} {
		assert.Equal(t, test.want, Find(test.entries, test.name), "%q", test.entries)
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		entries []string
		want    string
	}{
		{[]string{"BUNDLE.JSO"}, "BUNDLE.JSO"},
		{[]string{"SHA256SU", "BUNDLE~1.JSO"}, "BUNDLE~1.JSO"},
		{[]string{"BUNDLE.JSO;1"}, "BUNDLE.JSO;1"},
		{[]string{"BUNDLE.JSON"}, ""}, // only the case differs
		{[]string{"bundles.js", "holiday.jpg"}, ""},
	} {
		assert.Equal(t, test.want, Cut(test.entries, "bundle.json"), "%q", test.entries)
	}
}

func TestLineEnds(t *testing.T) {
	text, is := UnixLines([]byte("a\r\nb\r\n"))
	assert.True(t, is)
	assert.Equal(t, "a\nb\n", string(text))
	for _, other := range []string{"", "a\nb\n", "a\r\nb\n"} {
		_, is := UnixLines([]byte(other))
		assert.False(t, is, "%q", other)
	}
	assert.Contains(t, LineEnds([]byte("a\r\nb\r\n")), "CRLF")
	assert.Empty(t, LineEnds([]byte("a\r\nb\n")))
	assert.Contains(t, LineEnds([]byte("\xff\xfea\x00")), "UTF-16")
	assert.Empty(t, LineEnds([]byte("a\nb\n")))
}
