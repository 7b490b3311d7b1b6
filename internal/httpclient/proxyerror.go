package httpclient

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ProxyError is a proxy that refuses a connection, that does not make one, or that cannot be reached.
type ProxyError struct {
	Proxy    string   // SCHEME://HOST:PORT; "" for one that no setting names
	Setting  string   // the setting with its address: HTTPS_PROXY, sources.proxy
	Target   string   // HOST:PORT of the server behind it
	Status   int      // its answer; 0 without one
	Schemes  []string // with 407: ways to log in that it offers
	LoggedIn bool     // with 407: the setting has a user name
	Page     string   // title of its page; "" without one
	Err      error    // without an answer: the failed connection
}

func (e *ProxyError) Error() string {
	status := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.Page != "" {
		status += fmt.Sprintf(", with the web page %q", e.Page)
	}
	switch {
	case e.Status == 0:
		return fmt.Sprintf("%s did not connect to %s: %v", e.name(), e.Target, e.Err)
	case e.Status == http.StatusProxyAuthRequired && e.unsupported():
		return fmt.Sprintf("%s accepts only logins with %s (%s)", e.name(), strings.Join(slices.Compact(slices.Sorted(slices.Values(e.Schemes))), " or "), status)
	case e.Status == http.StatusProxyAuthRequired && e.LoggedIn:
		return fmt.Sprintf("%s refuses the user name or password in %s (%s)", e.name(), e.Setting, status)
	case e.Status == http.StatusProxyAuthRequired:
		return fmt.Sprintf("%s requires a login (%s)", e.name(), status)
	case e.Status >= http.StatusInternalServerError:
		return fmt.Sprintf("%s did not connect to %s (%s)", e.name(), e.Target, status)
	}
	return fmt.Sprintf("%s refuses the connection to %s (%s)", e.name(), e.Target, status)
}

// Hint implements advice.Hinter.
func (e *ProxyError) Hint() string {
	switch {
	case e.Status == http.StatusProxyAuthRequired && e.unsupported():
		return fmt.Sprintf("run a proxy on this host that logs in with NTLM or Kerberos, such as px or cntlm, and set %s to its address, such as HTTPS_PROXY=http://127.0.0.1:3128", e.Setting)
	case e.Status == http.StatusProxyAuthRequired:
		return "set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT in the environment, without sources.proxy; write special characters of the password with a percent sign, for example %40 for @"
	case e.Status == 0:
		return fmt.Sprintf("check the address of the proxy in %s, and the firewall between this host and the proxy; addresses without the proxy belong into NO_PROXY", e.Setting)
	}
	return fmt.Sprintf("ask the operator of the proxy to allow %s, set another proxy in %s, or set a mirror in sources.rewrite", e.Target, e.Setting)
}

// Unwrap returns the failed connection.
func (e *ProxyError) Unwrap() error { return e.Err }

// Temporary reports whether the same request can succeed later.
func (e *ProxyError) Temporary() bool {
	return e.Status == 0 || e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// Itself reports that the fault is the same for all servers behind the proxy.
func (e *ProxyError) Itself() bool {
	return e.Status == http.StatusProxyAuthRequired || e.Status == 0 && isDial(e.Err)
}

func (e *ProxyError) name() string {
	if e.Proxy == "" {
		return "the proxy for " + e.Target
	}
	return "the proxy " + e.Proxy
}

// unsupported reports that the proxy offers no Basic login. A proxy that names no way accepts Basic.
func (e *ProxyError) unsupported() bool {
	return len(e.Schemes) > 0 && !slices.ContainsFunc(e.Schemes, func(s string) bool { return strings.EqualFold(s, "Basic") })
}
