package fetch

import (
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/httpclient"
)

// Sources is the sources section of airgap.yaml: the connections to upstream registries
// and servers. The lock keeps the upstream names.
type Sources struct {
	Rewrite  []Rewrite `yaml:"rewrite" json:"rewrite,omitempty" jsonschema:"description=Corporate mirrors that replace upstream hosts; the longest match wins"`
	CA       string    `yaml:"ca" json:"ca,omitempty" jsonschema:"description=PEM file with CAs to trust in addition to the system's; for mirrors and TLS-inspecting proxies. Relative paths start at the directory of airgap.yaml"`
	Proxy    string    `yaml:"proxy" json:"proxy,omitempty" jsonschema_description:"URL of the proxy (http, https or socks5) without a login. Default: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY from the environment."`
	Timeouts Timeouts  `yaml:"timeouts" json:"timeouts,omitzero" jsonschema:"description=Time limits of downloads. airgap tries again after a time-out"`
}

// Rewrite maps an upstream host, or a path below it, to a mirror. From "*" maps every
// host to To/HOST.
type Rewrite struct {
	From  string    `yaml:"from" json:"from" jsonschema:"description=Upstream HOST or HOST/PATH; * matches every host,example=registry.k8s.io"`
	To    string    `yaml:"to" json:"to" jsonschema:"description=HOST[:PORT][/PATH] of the mirror (https),example=mirror.example:8443/registry.k8s.io"`
	Login rpm.Login `yaml:"login" json:"login,omitzero" jsonschema:"description=Login at the mirror for packages and files. With a user name also for images if the login files of podman and docker have none for it"`
	Plain bool      `yaml:"plainHTTP" json:"plainHTTP,omitempty" jsonschema:"description=The mirror has no https. airgap then reads from it only what it compares with a digest or a signature: packages and files; no images"`
}

// Default does nothing: without mirrors, upstream is used.
func (s *Sources) Default() {}

// Validate reports every problem of the section.
func (s Sources) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	seen := map[string]bool{}
	for i, r := range s.Rewrite {
		each := at.Child("rewrite").Index(i)
		if r.From != "*" && !isHostPath(r.From) {
			all = append(all, field.Invalid(each.Child("from"), r.From, "want HOST, HOST/PATH, or * for every host"))
		}
		if seen[r.From] {
			all = append(all, field.Duplicate(each.Child("from"), r.From))
		}
		seen[r.From] = true
		all = append(all, r.Login.Validate(each.Child("login"))...)
		if r.Plain && r.Login != (rpm.Login{}) {
			all = append(all, field.Forbidden(each.Child("login"), "allowed only with https: plainHTTP sends the login unencrypted"))
		}
		if !isHostPath(r.To) || !looksLikeHost(r.To) {
			all = append(all, field.Invalid(each.Child("to"), r.To, "want HOST[:PORT][/PATH]; add the port if the host name has no dot"))
		}
	}
	all = append(all, s.Timeouts.Validate(at.Child("timeouts"))...)
	return append(all, s.validateProxy(at.Child("proxy"))...)
}

func (s Sources) validateProxy(at *field.Path) field.ErrorList {
	if s.Proxy == "" {
		return nil
	}
	u, err := httpclient.ParseProxy(s.Proxy)
	switch {
	case err != nil || !strings.Contains(s.Proxy, "://"):
		return field.ErrorList{field.Invalid(at, "(not shown)", "want http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT")} // it may have a password
	case u.User != nil:
		return field.ErrorList{field.Invalid(at, u.Redacted(), "no credentials in airgap.yaml, because the bundle contains this file; set HTTPS_PROXY in the environment")}
	}
	return nil
}

// hostPath is HOST[:PORT][/PATH], without a scheme, credentials or empty path elements.
var hostPath = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~:@%+-]+)*/?$`)

func isHostPath(s string) bool {
	return hostPath.MatchString(s) && !strings.Contains("/"+s+"/", "/../")
}

// looksLikeHost tells a host from a path with the rule of image references.
func looksLikeHost(s string) bool {
	host, _, _ := strings.Cut(s, "/")
	return strings.ContainsAny(host, ".:") || host == "localhost"
}

// rewrite returns the mirror's HOST/PATH for upstream's.
func (s Sources) rewrite(upstream string) string {
	i, found := s.rule(upstream)
	if !found {
		return upstream
	}
	r := s.Rewrite[i]
	to := strings.TrimSuffix(r.To, "/")
	if r.From == "*" {
		return to + "/" + upstream
	}
	return to + upstream[len(strings.TrimSuffix(r.From, "/")):]
}

// isBelow reports whether upstream's HOST/PATH is from or below it. Upper and lower case are equal in a host.
func isBelow(upstream, from string) bool {
	host, path, _ := strings.Cut(upstream, "/")
	wantHost, want, hasPath := strings.Cut(from, "/")
	return strings.EqualFold(host, wantHost) && (!hasPath || path == want || strings.HasPrefix(path, want+"/"))
}

// rule returns the rule for upstream's HOST/PATH: the longest match, "*" only without
// another match.
func (s Sources) rule(upstream string) (i int, found bool) {
	best := ""
	for k, r := range s.Rewrite {
		from := strings.TrimSuffix(r.From, "/")
		if r.From == "*" && best == "" {
			best, i = "*", k
		}
		if (best == "*" || len(from) > len(best)) && isBelow(upstream, from) {
			best, i = from, k
		}
	}
	return i, best != ""
}

// rewriteURL applies rewrite to a URL; a mirror is accessed with https, unless its rule has plainHTTP.
func (s Sources) rewriteURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	rest := u.Host + u.EscapedPath()
	mirror := s.rewrite(rest)
	if mirror == rest {
		return raw, nil
	}
	mirrored := s.scheme(rest) + "://" + mirror
	if u.RawQuery != "" {
		mirrored += "?" + u.RawQuery
	}
	return mirrored, nil
}
