package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Names of the files next to the parts.
const (
	IndexName     = "bundle.json"
	SumsName      = "SHA256SUMS"
	SignatureName = "SHA256SUMS.sig"
	PublicKeyName = "airgap.pub"         // PEM, ECDSA: key for checking the signature
	RPMKeyName    = "RPM-GPG-KEY-airgap" // armored OpenPGP, for rpm --import
	ProgramName   = "airgap"             // executable for every user
	partialName   = ".airgap-partial"    // exists until the bundle is finished
)

// IsDocumentation reports whether a file next to the parts is only for people to read: no
// command uses it, so it may be missing or altered.
func IsDocumentation(name string) bool {
	return strings.HasSuffix(name, ".spdx.json") || strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".txt")
}

// PlainName accepts the names of files in a bundle's directory.
func PlainName(name string) bool { return isPlainName(name) }

// sums is SHA256SUMS: lower-case hex SHA-256 by file name.
type sums map[string]string

// String is the input of sha256sum -c, sorted by name.
func (s sums) String() string {
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%s  %s\n", s[name], name)
	}
	return b.String()
}

// parseSums reads SHA256SUMS in the format of String: only plain names in one directory.
func parseSums(text string) (sums, error) {
	s := sums{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		sum, name, ok := strings.Cut(line, "  ")
		if !ok || !isSHA256(sum) || !isPlainName(name) {
			return nil, fmt.Errorf("%s line %d: want SHA-256, two spaces, file name", SumsName, i+1)
		}
		if _, twice := s[name]; twice {
			return nil, fmt.Errorf("%s line %d: %s is listed twice", SumsName, i+1, name)
		}
		s[name] = sum
	}
	return s, nil
}

func isSHA256(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && s == strings.ToLower(s)
}

// isPlainName accepts file names of a bundle's directory, which every file system supports.
func isPlainName(name string) bool {
	if name == "" || name[0] == '.' || len(name) > 128 {
		return false
	}
	for _, c := range name {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", c) {
			return false
		}
	}
	return true
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// OptionalIndexFiles are further files of the signed index, which a bundle may have.
func OptionalIndexFiles() []string { return []string{CosignaturesName} }

// IndexFiles are the names of the signed index of a bundle and of the key that signed
// it, for a reader that knows its fingerprint.
func IndexFiles() []string {
	return []string{IndexName, SumsName, SignatureName, PublicKeyName}
}

// Sum is a file of a bundle's directory with its SHA-256.
type Sum struct{ Name, SHA256 string }

// SumsIn lists the files of the bundle in dir, sorted by name, also SHA256SUMS and its
// signatures. Nothing is verified.
func SumsIn(dir string) ([]Sum, error) {
	text, err := readIn(dir, SumsName, maxSums)
	if err != nil {
		return nil, err
	}
	all, err := parseSums(string(text))
	if err != nil {
		return nil, err
	}
	signature, err := readIn(dir, SignatureName, maxSignature)
	if err != nil {
		return nil, err
	}
	all[SumsName], all[SignatureName] = sha256Hex(text), sha256Hex(signature)
	further, err := cosignaturesIn(dir)
	if err != nil {
		return nil, err
	}
	if further != nil {
		all[CosignaturesName] = sha256Hex(further)
	}
	var list []Sum
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, Sum{name, all[name]})
	}
	return list, nil
}
