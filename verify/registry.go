package verify

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// manifestTypes are the forms an image may be stored in.
const manifestTypes = "application/vnd.oci.image.index.v1+json, " +
	"application/vnd.oci.image.manifest.v1+json, " +
	"application/vnd.docker.distribution.manifest.list.v2+json, " +
	"application/vnd.docker.distribution.manifest.v2+json"

// RegistryImages asks the registry at base ("https://10.0.0.11:5000") whether
// it has the manifest, under the name HOST/PATH; a port in HOST is written
// _port_, since repository names have no colon. client brings the trust in
// the registry's certificate.
func RegistryImages(client *http.Client, base string) ImageExists {
	return func(ctx context.Context, repository, digest string) (bool, error) {
		url := fmt.Sprintf("%s/v2/%s/manifests/%s", strings.TrimSuffix(base, "/"), repositoryName(repository), digest)
		request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
		if err != nil {
			return false, fmt.Errorf("ask registry: %w", err)
		}
		request.Header.Set("Accept", manifestTypes)
		response, err := client.Do(request)
		if err != nil {
			return false, fmt.Errorf("ask registry: %w", err)
		}
		defer response.Body.Close()
		switch response.StatusCode {
		case http.StatusOK:
			return true, nil
		case http.StatusNotFound:
			return false, nil
		default:
			return false, fmt.Errorf("ask registry: HEAD %s: %s", url, response.Status)
		}
	}
}

func repositoryName(repository string) string {
	host, path, _ := strings.Cut(repository, "/")
	if name, port, has := strings.Cut(host, ":"); has {
		host = name + "_" + port + "_"
	}
	return host + "/" + path
}
