package facts

import (
	"context"
	"regexp"
	"strings"
)

// ProxySetting is a line of a file that sets a proxy for login shells.
type ProxySetting struct {
	File  string `yaml:"file" json:"file"`
	Name  string `yaml:"name" json:"name"`   // as written: "https_proxy"
	Value string `yaml:"value" json:"value"` // without a password
}

// IsProxy reports whether a variable sets a proxy or its exceptions, in any case.
func IsProxy(name string) bool {
	switch strings.ToLower(name) {
	case "http_proxy", "https_proxy", "all_proxy", "no_proxy":
		return true
	}
	return false
}

// credentials matches the user and password of a URL, up to the last @ as in curl and Go, and of
// a proxy without a scheme.
var credentials = regexp.MustCompile(`(?i)(://|_proxy=["']?)[^/\s"']*@`)

// withoutPassword replaces the users and passwords of URLs and proxies in a text.
func withoutPassword(text string) string { return credentials.ReplaceAllString(text, "${1}***@") }

// proxyWithoutPassword is the value of a proxy setting without user and password.
func proxyWithoutPassword(value string) string {
	_, hidden, _ := strings.Cut(withoutPassword("x_proxy="+value), "=")
	return hidden
}

// proxyLine matches a setting in /etc/environment or a shell profile.
var proxyLine = regexp.MustCompile(`(?im)^[ \t]*(?:export[ \t]+)?((?:https?|all|no)_proxy)=["']?([^"'\s;]*)`)

// profiles is the directory of scripts that login shells read.
const profiles = "etc/profile.d"

func readProxies(_ context.Context, r reader, f *Facts) error {
	files := []string{"etc/environment"}
	names, err := r.names(profiles)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sh") {
			files = append(files, profiles+"/"+name)
		}
	}
	for _, file := range files {
		text, err := r.optional(file)
		if err != nil {
			return err
		}
		for _, m := range proxyLine.FindAllStringSubmatch(text, -1) {
			f.Proxies = append(f.Proxies, ProxySetting{"/" + file, m[1], proxyWithoutPassword(m[2])})
		}
	}
	return nil
}
