package cryptopolicy

import (
	"slices"
	"strings"
)

// Files of a server with its crypto policy, which update-crypto-policies(8) writes. EL 8 and 9 have no
// file of rpm's own; rpm of EL 9 asks OpenSSL for SHA-1 (Red Hat, "SHA-1 package signatures distrusted on
// RHEL 9"). rpm of EL 10 reads the file of rpm-sequoia (README of rpm-sequoia, "Configuration").
const (
	NameFile    = "etc/crypto-policies/state/current"
	OpenSSLFile = "etc/crypto-policies/back-ends/opensslcnf.config"
	SequoiaFile = "etc/crypto-policies/back-ends/rpm-sequoia.config"
)

// Surveyed has the lines of these files that rpm depends on. It is a part of the facts.
type Surveyed struct {
	Name string `yaml:"name,omitempty" json:"name,omitempty"` // with modules: "DEFAULT:SHA1"
	// SHA1 is the value of rh-allow-sha1-signatures: "yes", "no"; "" if OpenSSL has no such option (EL 8).
	SHA1 string `yaml:"sha1,omitempty" json:"sha1,omitempty"`
	// Sequoia has the settings of rpm-sequoia for hashes and keys: "rsa2048": "always". It is empty before EL 10.
	Sequoia map[string]string `yaml:"sequoia,omitempty" json:"sequoia,omitempty"`
}

// Files are the files that Read reads, below the root.
func Files() []string { return []string{NameFile, OpenSSLFile, SequoiaFile} }

// Read returns the lines from the texts of Files. A file that does not exist has no text.
func Read(texts map[string]string) Surveyed {
	return Surveyed{Name: word(texts[NameFile]), SHA1: allowsSHA1(texts[OpenSSLFile]), Sequoia: settings(texts[SequoiaFile])}
}

// other stands for the name of a policy or module that is not from Red Hat. Policy.Key is unsure about it.
const other = "OTHER"

// Anonymous returns the settings without the names that the site has chosen.
func (s Surveyed) Anonymous() Surveyed {
	parts := strings.Split(s.Name, ":")
	for i, part := range parts {
		known := slices.Concat([]string{"", "DEFAULT", "LEGACY", "FUTURE", "FIPS", "SHA1"}, ofHashes())
		if !slices.Contains(known, part) {
			parts[i] = other
		}
	}
	s.Name = strings.Join(parts, ":")
	return s
}

// word returns the first word of a text; "" if the name of a policy cannot have its characters or its length.
func word(text string) string {
	fields := strings.Fields(text)
	if len(fields) == 0 || len(fields[0]) > 200 || strings.ContainsFunc(fields[0], func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return fields[0]
}

func allowsSHA1(openssl string) string {
	value := ""
	for line := range strings.Lines(openssl) {
		key, text, is := strings.Cut(line, "=")
		if text = strings.TrimSpace(text); is && strings.TrimSpace(key) == "rh-allow-sha1-signatures" && slices.Contains([]string{"yes", "no"}, text) {
			value = text
		}
	}
	return value
}

// maxSettings is ten times the number of settings in the file of EL 10.
const maxSettings = 500

// settings reads the tables hash_algorithms and asymmetric_algorithms, whose values are on one line:
// sha1.collision_resistance = "never". The default of a table has the table's name in front.
func settings(toml string) map[string]string {
	var all map[string]string
	table := ""
	for line := range strings.Lines(toml) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = strings.Trim(line, "[] ")
			continue
		}
		key, value, is := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`)
		if !is || !slices.Contains([]string{hashTable, keyTable}, table) || key == "ignore_invalid" || word(key) != key || word(value) != value {
			continue
		}
		if "."+key == defaultSetting {
			key = table + defaultSetting
		}
		if all == nil {
			all = map[string]string{}
		}
		if all[key] = value; len(all) >= maxSettings {
			return all
		}
	}
	return all
}

const (
	hashTable      = "hash_algorithms"
	keyTable       = "asymmetric_algorithms"
	defaultSetting = ".default_disposition"
)
