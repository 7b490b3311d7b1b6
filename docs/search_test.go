package docs

import (
	"slices"
	"strings"
	"testing"
)

// TestSearchFindsThePage: typical queries of operators find the right page, in each language.
func TestSearchFindsThePage(t *testing.T) {
	for _, test := range []struct {
		language Language
		queries  []string
		page     string
	}{
		{English, []string{"podman", "docker"}, "checks/preflight/rpm-conflict"},
		{English, []string{"VIP", "load balancer", "haproxy"}, "checks/preflight/lb-vip"},
		{English, []string{"disk full", "no space left", "ENOSPC"}, "checks/preflight/disk-space"},
		{English, []string{"chrony", "ntp"}, "checks/preflight/time-sync"},
		{English, []string{"IP-in-IP", "protocol 4"}, "checks/preflight/ipip-proto4"},
		{English, []string{"expired certificate", "x509 expired"}, "checks/preflight/cert-expiry"},
		{English, []string{"uninstall"}, "commands/airgap-reset"},
		{English, []string{"downgrade"}, "commands/airgap-rollback"},
		{English, []string{"storageclass"}, "walkthrough"},
		{English, []string{"kubeconfig laptop"}, "walkthrough"},
		{English, []string{"ImagePullBackOff"}, "checks/verify/images"},
		{Korean, []string{"podman", "docker"}, "ko/checks/preflight/rpm-conflict"},
		{Korean, []string{"디스크 공간", "disk full"}, "ko/checks/preflight/disk-space"},
		{Korean, []string{"VIP", "로드밸런서"}, "ko/checks/preflight/lb-vip"},
		{Korean, []string{"방화벽"}, "ko/checks/preflight/firewalld"},
	} {
		b, err := Read(test.language)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range test.queries {
			hits := b.Search(query)
			if !slices.ContainsFunc(hits[:min(5, len(hits))], func(h Hit) bool { return h.Page == test.page }) {
				t.Errorf("%s, %q: got %+[4]v, want %[3]s in the first five hits", test.language, query, test.page, hits)
			}
		}
	}
}

func TestSearch(t *testing.T) {
	b := &Documentation{Pages: []Page{
		{Path: "a.md", Title: "Disks", Text: "# Disks\n\nA first line.\n\n## Size\n\nThe disk is [too small](x.md).\n"},
		{Path: "b.md", Title: "Support", Text: "# Support\n\n| Port | For |\n|---|---|\n| 22 | ssh |\n"},
	}}
	for query, want := range map[string]string{
		"disk":       "a Disks A first line.",
		"DISK small": "a Size The disk is too small.",
		"port":       "b Support Port | For",
		"22 ssh":     "b Support 22 | ssh",
		"upport":     "",
		"disk ssh":   "",
		"--":         "",
		"":           "",
	} {
		var got string
		if hits := b.Search(query); len(hits) > 0 {
			got = hits[0].Page + " " + hits[0].Section + " " + hits[0].Line
		}
		if got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// TestSynonyms: each word is in one group only and has the form that the search compares.
func TestSynonyms(t *testing.T) {
	seen := map[string]bool{}
	for _, group := range synonyms() {
		for _, word := range group {
			if seen[word] || word != strings.ToLower(word) || word == "" {
				t.Errorf("%q is empty, not in lower case, or in two groups", word)
			}
			seen[word] = true
		}
	}
}
