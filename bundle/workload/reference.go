package workload

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"airgap.dev/airgap/internal/reference"
)

// maxReference limits a reference, in bytes: a name has at most 255, a tag 128,
// a digest 71.
const maxReference = 512

// form classifies a word by its shape.
type form int

const (
	noImage  form = iota
	unlikely      // an image only after a key or flag such as image: "busybox:1", "shop/till:stable"
	untagged      // a repository without tag or digest
	whole         // an image in any place: "quay.io/x/y:1", "shop/till:1.2"
)

// formOf classifies one word only by its shape.
func formOf(word string) form {
	if len(word) > maxReference || !strings.ContainsAny(word, "/:@") && !isWord(word) || strings.Contains(word, "://") {
		return noImage
	}
	named, err := reference.Parse(word)
	if err != nil || named.Repository() != strings.ToLower(named.Repository()) {
		return noImage
	}
	host, hasHost := reference.HostOf(word)
	if hasHost && !isRegistry(host) || named.Path == "library/sha256" {
		return noImage
	}
	if named.Digest != "" {
		if !strings.HasPrefix(named.Digest, "sha256:") {
			return noImage
		}
		return whole
	}
	switch {
	case named.Tag == "":
		return untagged
	case hasHost:
		return whole
	case !strings.Contains(word, "/") && isPort(named.Tag) && (strings.Contains(word, ".") || len(named.Tag) > 2):
		return noImage // "redis.shop:6379"
	case strings.Contains(word, "/") && isVersion(named.Tag):
		return whole
	}
	return unlikely
}

// isWord reports whether a word can be a name at Docker Hub: "busybox".
func isWord(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-._") == ""
}

// isOfHub reports whether a word can be an official image of Docker Hub.
func isOfHub(word string) bool {
	return ofHub.MatchString(word) && !slices.Contains(settingWords(), word)
}

var ofHub = regexp.MustCompile(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)

// settingWords returns words that settings use instead of a name.
func settingWords() []string {
	return []string{"true", "false", "none", "null", "nil", "auto", "default", "inherit", "yes", "no", "on", "off", "latest"}
}

// isRegistry excludes hosts from which no kubelet pulls: hosts of Go modules, groups
// of Kubernetes APIs, Services, and the local host.
func isRegistry(host string) bool {
	name, port, _ := strings.Cut(host, ":")
	switch name {
	case "github.com", "golang.org", "google.golang.org", "gopkg.in", "go.uber.org", "go.opentelemetry.io", "k8s.io", "kubernetes.io", "localhost":
		return false
	case "registry.k8s.io":
		return true
	}
	for _, end := range []string{".k8s.io", ".kubernetes.io", ".svc", ".cluster.local"} {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	return isPort(port) && !strings.HasPrefix(name, "127.")
}

func isPort(tag string) bool { return strings.Trim(tag, "0123456789") == "" }

// isVersion reports whether a tag is a version: "1.2", "v3.1.0-rc1",
// "RELEASE.2025-04-08T15-41-24Z".
func isVersion(tag string) bool { return versionTag.MatchString(tag) }

var versionTag = regexp.MustCompile(`^(v?[0-9]+\.[0-9]|v[0-9]+$|[A-Za-z-]+[.-]v?[0-9]+[.-][0-9])`)

// wordsOf returns the words of a key in lower case: "sidecarImage", "SIDECAR_IMAGE",
// "--sidecar-image" and "sidecar.image" all have the words sidecar and image.
func wordsOf(key string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	runes := []rune(key)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word.WriteRune(unicode.ToLower(r))
	}
	end()
	return words
}

// maxKey limits a key, in bytes.
const maxKey = 128

// meaning is the meaning of a key for its value.
type meaning struct {
	named bool   // the value is an image
	last  bool   // the last word of the key is image
	base  bool   // the value is a base image of others
	aside bool   // the value is a property of an image: a policy, a tag
	about string // for a part of a reference: the name of the reference
	part  role
}

func meaningOf(key string) (m meaning) {
	if len(key) > maxKey {
		return m
	}
	words := wordsOf(key)
	for _, word := range words {
		m.aside = m.aside || isAbout(word)
		m.base = m.base || word == "base"
		m.named = m.named || word == "image" || word == "images" || word == "img"
	}
	m.named = m.named && !m.aside
	m.last = m.named && (words[len(words)-1] == "image" || words[len(words)-1] == "img")
	m.about, m.part = partOf(words)
	return m
}

// isAbout reports whether a word in a key shows that the value is a property of an
// image, or a part of its name.
func isAbout(word string) bool {
	switch word {
	case "pull", "policy", "secret", "secrets", "tag", "version", "registry", "repository", "repo", "hub", "digest", "type", "format", "gc", "size", "count",
		"timeout", "prefix", "suffix", "regex", "pattern", "label", "labels", "command", "enabled", "disabled", "credentials", "user", "arch", "platform":
		return true
	}
	return false
}
