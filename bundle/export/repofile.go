package export

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
)

// The build of the bundle has selected the module streams, so the streams of a server must
// not hide packages: module_hotfixes.
const repoFile = `[airgap-%[1]s]
name=airgap packages for %[1]s
baseurl=%[2]s/%[1]s/
enabled=1
gpgcheck=1
repo_gpgcheck=1
gpgkey=%[3]s
module_hotfixes=1
sslverify=1
`

// baseURL is the URL of the directory to on the web server, or its file URL.
func baseURL(given, to string) (string, error) {
	if given == "" {
		full, err := filepath.Abs(to)
		if err != nil {
			return "", err
		}
		return (&url.URL{Scheme: "file", Path: full}).String(), nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", advice.Usagef("airgap export rpm: --url must be http or https with a host and a path, without a login, such as https://repo.bank.example/airgap")
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// repoText is the configuration of dnf. Servers import all keys: of airgap for the metadata
// and of the vendors for the packages.
func repoText(name, base string, files []file) []byte {
	var keys []string
	for _, f := range files {
		if strings.HasPrefix(f.name, rpm.KeysDir+"/") {
			keys = append(keys, base+"/"+name+"/"+f.name)
		}
	}
	return fmt.Appendf(nil, repoFile, name, base, strings.Join(keys, "\n       "))
}
