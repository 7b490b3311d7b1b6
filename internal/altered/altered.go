// Package altered recognises changes that gates, desktops and file systems make to a directory on its
// way: files that they add, names in another case, and other line ends.
package altered

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// IsJunk reports whether a file system, a desktop or a virus scanner adds entries with this name to
// the directories of a medium.
func IsJunk(name string) bool {
	switch {
	case strings.HasPrefix(name, "._"), strings.HasPrefix(name, ".Trash"), strings.HasPrefix(name, ".fuse_hidden"), strings.HasPrefix(name, ".nfs"):
		return true
	}
	return slices.ContainsFunc(junk(), func(j string) bool { return strings.EqualFold(j, name) })
}

func junk() []string {
	return []string{
		"lost+found", ".snapshot",
		".DS_Store", ".fseventsd", ".Spotlight-V100", ".TemporaryItems", ".DocumentRevisions-V100", ".apdisk", ".metadata_never_index", "__MACOSX",
		"Thumbs.db", "ehthumbs.db", "desktop.ini", "System Volume Information", "$RECYCLE.BIN", "RECYCLER", "autorun.inf",
		".directory", ".localized",
	}
}

// Plain is the form of a name that has survived ISO 9660: without the version ";1" and a last dot, in
// lower case.
func Plain(name string) string {
	name, _, _ = strings.Cut(name, ";")
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// Find returns the entry that has the name, if necessary in another case. It is "" if there is none, or
// more than one.
func Find(entries []string, name string) string {
	if slices.Contains(entries, name) {
		return name
	}
	found := ""
	for _, e := range entries {
		if Plain(e) != Plain(name) || IsJunk(e) {
			continue
		}
		if found != "" {
			return ""
		}
		found = e
	}
	return found
}

// Cut returns an entry that can be the name cut to the 8.3 characters of ISO 9660 or FAT; "" if there is
// none. "BUNDLE.JSO" and "BUNDLE~1.JSO" can be bundle.json.
func Cut(entries []string, name string) string {
	stem, ext := cutName(name)
	for _, e := range entries {
		has, hasExt := cutName(Plain(e))
		has, _, _ = strings.Cut(has, "~")
		if len(has) >= 6 && hasExt == ext && strings.HasPrefix(stem, has) && Plain(e) != Plain(name) {
			return e
		}
	}
	return ""
}

func cutName(name string) (stem, ext string) {
	ext = strings.TrimPrefix(path.Ext(name), ".")
	stem = strings.TrimSuffix(strings.TrimSuffix(name, ext), ".")
	return strings.ToLower(stem[:min(8, len(stem))]), strings.ToLower(ext[:min(3, len(ext))])
}

// UnixLines returns the text with the line ends of Unix if each of its lines ends with CR and LF.
func UnixLines(text []byte) ([]byte, bool) {
	if n := bytes.Count(text, []byte("\n")); n == 0 || n != bytes.Count(text, []byte("\r\n")) {
		return text, false
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), true
}

// LineEnds names the fault in the encoding of a text that has Unix line ends at its origin; "" if
// nothing is.
func LineEnds(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}), bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		return "the text is UTF-16, as PowerShell writes it"
	}
	if _, is := UnixLines(text); is { // a text with some of these lines can have them at its origin
		return "its line ends are CRLF"
	}
	return ""
}

// LineEndsHint is the next step for a text with such line ends.
const LineEndsHint = `copy the file again in binary mode, or restore the line ends: sed -i 's/\r$//' FILE; ask the operator of the gate not to convert text`
