package preflight

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// ProxySetting is a line of a file that sets a proxy for login shells.
type ProxySetting struct {
	File  string `yaml:"file" json:"file"`
	Name  string `yaml:"name" json:"name"`   // as written: "https_proxy"
	Value string `yaml:"value" json:"value"` // without a password
}

func isProxy(name string) bool {
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

var proxyEnv = Check{
	ID: "proxy-env", Title: "The cluster's addresses bypass the proxy", Source: "kubeadm HTTPProxyCheck",
	Breaks: "The kubelet or kubectl sends requests for the API server to a proxy, and the proxy cannot reach it.",
	Needs:  []string{"proxies", "manager", "unitFiles"}, Run: judgeProxies,
}

// judgeProxies fails if the kubelet would use the proxy from systemd's environment. The unit of
// the runtime unsets proxies, and airgap runs dnf without a proxy.
func judgeProxies(f *Facts, w *Want) Result {
	shells, files := map[string]string{}, []string{}
	for _, p := range f.Proxies {
		shells[p.Name] = p.Value
		if !strings.EqualFold(p.Name, "no_proxy") && !slices.Contains(files, p.File) {
			files = append(files, p.File)
		}
	}
	managers, own, from := f.kubeletProxies()
	for _, environment := range []struct {
		status    Status
		variables map[string]string
		where     string
		fix       string
	}{
		{Fail, own, from, "there, then systemctl daemon-reload"},
		{Fail, managers, "systemd's environment", "in DefaultEnvironment of /etc/systemd/system.conf or its drop-ins, then systemctl daemon-reexec"},
		{Warn, shells, strings.Join(files, ", "), "there"},
	} {
		if through := throughProxy(environment.variables, w); len(through) > 0 {
			return Result{environment.status, fmt.Sprintf("%s sets a proxy that also applies to %s", environment.where, strings.Join(through, ", ")),
				"no proxy for the cluster's addresses", "add to no_proxy " + environment.fix + ": " + strings.Join(through, ",")}
		}
	}
	if len(files)+len(managers)+len(own) > 0 {
		return pass("none for the cluster's addresses")
	}
	return pass("none")
}

// kubeletProxies returns the proxy variables that the kubelet gets from systemd, the ones that its
// files set, and the place of the latter. UnsetEnvironment removes a variable in any case
// (systemd.exec(5)). An empty Environment= resets the earlier ones.
func (f *Facts) kubeletProxies() (managers, own map[string]string, from string) {
	managers, own = maps.Clone(f.Manager.Proxy), map[string]string{}
	var unset []string
	for _, u := range f.UnitFiles {
		if u.Unit != "kubelet" && (u.Unit != "service" || f.Systemd != 0 && f.Systemd < serviceDropInsFrom) {
			continue
		}
		for _, s := range u.Settings {
			key, value, _ := strings.Cut(s.Text, "=")
			switch {
			case key == "UnsetEnvironment":
				unset = append(unset, strings.Fields(value)...)
			case key == "Environment" && value == "":
				clear(own)
			case key == "Environment" || u.Kind == environmentFile && isProxy(key):
				if u.Kind == environmentFile {
					value = s.Text
				}
				for word := range strings.FieldsSeq(value) {
					if name, proxy, _ := strings.Cut(word, "="); isProxy(name) {
						own[name] = strings.Trim(proxy, `"'`)
						if !strings.EqualFold(name, "no_proxy") {
							from = u.at(s)
						}
					}
				}
			}
		}
	}
	for _, name := range unset {
		delete(managers, name)
		delete(own, name)
	}
	if own["no_proxy"]+own["NO_PROXY"] == "" { // the kubelet also gets systemd's exceptions
		for name, value := range managers {
			if strings.EqualFold(name, "no_proxy") {
				own[name] = value
			}
		}
	}
	return managers, own, from
}

// throughProxy lists the cluster's addresses for which these variables set a proxy.
func throughProxy(variables map[string]string, w *Want) []string {
	proxy := false
	var exempt, through []string
	for name, value := range variables {
		if strings.EqualFold(name, "no_proxy") {
			exempt = append(exempt, strings.Split(value, ",")...)
		} else {
			proxy = proxy || value != ""
		}
	}
	for _, host := range append([]string{w.NodeAddress}, w.OtherAddresses...) {
		if proxy && host != "" && !exempts(exempt, host) && !slices.Contains(through, host) {
			through = append(through, host)
		}
	}
	return through
}

// exempts reports whether a list such as no_proxy contains the host: by its name, its domain, its
// address, or its network.
func exempts(list []string, host string) bool {
	address, errAddress := netip.ParseAddr(host)
	return slices.ContainsFunc(list, func(item string) bool {
		item = strings.TrimSpace(item)
		if network, err := netip.ParsePrefix(item); err == nil && errAddress == nil {
			return network.Contains(address)
		}
		domain := strings.TrimPrefix(strings.TrimPrefix(item, "*"), ".")
		return item == "*" || item == host || domain != "" && strings.HasSuffix(host, "."+domain)
	})
}
