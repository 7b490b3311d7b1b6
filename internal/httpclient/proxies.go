package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"

	"golang.org/x/net/http/httpproxy"

	"airgap.dev/airgap/internal/advice"
)

// Proxies chooses the proxy of each request. Loopback addresses and those in NO_PROXY have none.
type Proxies struct {
	choose   func(*url.URL) (*url.URL, error)
	settings map[string]string // name of the setting, by the proxy's URL
}

// NoProxies connects directly.
func NoProxies() *Proxies {
	return &Proxies{choose: func(*url.URL) (*url.URL, error) { return nil, nil }}
}

// FixedProxy uses one proxy for http and https. setting is its name for messages.
func FixedProxy(setting, address string) (*Proxies, error) {
	config := httpproxy.FromEnvironment()
	config.HTTPProxy, config.HTTPSProxy = address, address
	return proxiesOf(config, setting, setting)
}

// EnvironmentProxies reads HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, or their names in lower case.
// ALL_PROXY is for addresses without a proxy of their scheme. A value that is no proxy is an error: the Go
// library would connect directly.
func EnvironmentProxies() (*Proxies, error) {
	config := httpproxy.FromEnvironment()
	var forHTTP, forHTTPS string
	forHTTP, config.HTTPProxy = firstSet("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
	forHTTPS, config.HTTPSProxy = firstSet("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
	return proxiesOf(config, forHTTP, forHTTPS)
}

func firstSet(names ...string) (name, value string) {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

func proxiesOf(config *httpproxy.Config, forHTTP, forHTTPS string) (*Proxies, error) {
	p := &Proxies{settings: map[string]string{}}
	for _, one := range []struct {
		setting string
		value   *string
	}{{forHTTP, &config.HTTPProxy}, {forHTTPS, &config.HTTPSProxy}} {
		if *one.value == "" {
			continue
		}
		u, err := ParseProxy(*one.value)
		if err != nil {
			return nil, advice.Add(fmt.Errorf("read %s: %w", one.setting, err), "%s", proxyHint(one.setting))
		}
		*one.value = u.String()
		p.settings[u.String()] = one.setting
	}
	p.choose = config.ProxyFunc()
	return p, nil
}

func proxyHint(setting string) string {
	return fmt.Sprintf("set %s to http://HOST:PORT or socks5://HOST:PORT; write special characters of a user name or password with a percent sign, for example %%40 for @", setting)
}

// ParseProxy reads the address of a proxy; HOST:PORT is http. Its errors do not contain the address, which can
// have a password.
func ParseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		u, err = url.Parse("http://" + text)
	}
	if err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("its value is not the address of a proxy")
	}
	if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n < 1 || n > 65535) {
		return nil, errors.New("its port is not a number from 1 to 65535")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	case "socks": // GNOME writes this for SOCKS 5
		u.Scheme = "socks5"
	default:
		if slices.Contains([]string{"socks4", "socks4a", "ftp"}, u.Scheme) {
			return nil, fmt.Errorf("proxies of type %s are not supported, only http, https and socks5", u.Scheme)
		}
		return nil, errors.New("the type of the proxy is not supported, only http, https and socks5")
	}
	u.Path = ""
	return u, nil
}

// of returns the proxy of a request; nil for none.
func (p *Proxies) of(r *http.Request) (*url.URL, error) { return p.choose(r.URL) }

// For returns the address of the proxy for a URL without its login; "" for a direct connection.
func (p *Proxies) For(u *url.URL) string {
	proxy, err := p.choose(u)
	if err != nil || proxy == nil {
		return ""
	}
	return shown(proxy)
}

// shown is the address without the login.
func shown(proxy *url.URL) string { return proxy.Scheme + "://" + proxy.Host }

// setting is the name of the setting with this proxy.
func (p *Proxies) setting(proxy *url.URL) string {
	if proxy != nil {
		if name := p.settings[proxy.String()]; name != "" {
			return name
		}
	}
	return "HTTPS_PROXY"
}
