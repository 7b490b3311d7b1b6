package bundle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// sizeShapes are layers with a size that differs from their descriptor.
func sizeShapes() []shape {
	var all []shape
	add := func(name, refused string, pulls bool, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, pulls: pulls, build: build})
	}
	for _, size := range []int64{-1, -1 << 62, 0, 1 << 40, 1 << 62} {
		set := func(d *desc) { d.Size = size }
		says, manifest := "is listed with "+fmt.Sprint(size)+" bytes", "has "+fmt.Sprint(size)+" bytes: the servers read at most"
		if size > 0 {
			says = manifest
		}
		layerSays := says
		if size == 1<<40 {
			layerSays = "" // a plan does not read the sizes of layers
		}
		if layerSays != "" {
			add(fmt.Sprintf("a layer of %d bytes", size), layerSays, false, func(s *shelf) desc {
				return s.image("linux/amd64", layers(with(s.layer(ociGzip), set)))
			})
		}
		add(fmt.Sprintf("a configuration of %d bytes", size), says, false, func(s *shelf) desc {
			return s.image("linux/amd64", configured(with(s.config(ociConfig, "linux/amd64", 1), set)))
		})
		add(fmt.Sprintf("a manifest of %d bytes in an index", size), says, false, func(s *shelf) desc {
			return s.index(on("linux/amd64", with(s.image("linux/amd64"), set)))
		})
		add(fmt.Sprintf("a manifest of %d bytes for another platform in an index", size), "", false, func(s *shelf) desc {
			return s.index(on("linux/arm64", with(s.image("linux/arm64"), set)), on("linux/amd64", s.image("linux/amd64")))
		})
	}
	for _, off := range []int64{-1, 1, 1000} {
		wrong := func(d *desc) { d.Size += off }
		add(fmt.Sprintf("a manifest with a size that is %d bytes off in its index", off), "but its entry has size", false, func(s *shelf) desc {
			return s.index(on("linux/amd64", with(s.image("linux/amd64"), wrong)))
		})
		add(fmt.Sprintf("a configuration with a size that is %d bytes off", off), "bytes", false, func(s *shelf) desc {
			return s.image("linux/amd64", configured(with(s.config(ociConfig, "linux/amd64", 1), wrong)))
		})
	}
	add("one layer with two sizes", "is listed with 7 bytes and with 8 bytes", false, func(s *shelf) desc {
		l := s.layer(ociGzip)
		return s.image("linux/amd64", layers(l, with(l, func(d *desc) { d.Size++ })), configured(s.config(ociConfig, "linux/amd64", 2)))
	})
	pad := func(n int) string { return strings.Repeat("x", n) }
	add("a configuration of 4 MiB and more", "configuration sha256:", true, func(s *shelf) desc {
		return s.image(
			"linux/amd64",
			configured(s.json(ociConfig, map[string]any{"os": "linux", "architecture": "amd64", "x": pad(4 << 20), "rootfs": map[string]any{"diff_ids": []digest.Digest{digest.FromString("0")}}})),
		)
	})
	add("a configuration of almost 4 MiB", "", false, func(s *shelf) desc {
		return s.image(
			"linux/amd64",
			configured(s.json(ociConfig, map[string]any{"os": "linux", "architecture": "amd64", "x": pad(4<<20 - 200), "rootfs": map[string]any{"diff_ids": []digest.Digest{digest.FromString("0")}}})),
		)
	})
	big := func(s *shelf, n int) desc {
		return s.json(
			ociManifest,
			map[string]any{"schemaVersion": 2, "mediaType": ociManifest, "config": s.config(ociConfig, "linux/amd64", 1), "layers": []desc{s.layer(ociGzip)}, "annotations": map[string]string{"x": pad(n)}},
		)
	}
	add("a manifest of 4 MiB and more", " bytes: the servers read at most 4194304", true, func(s *shelf) desc { return big(s, 4<<20) })
	add("a manifest of 4 MiB and more in an index", "manifest sha256:", true, func(s *shelf) desc { return s.index(on("linux/amd64", big(s, 4<<20))) })
	add("a manifest of almost 4 MiB", "", false, func(s *shelf) desc { return big(s, 4<<20-1000) })
	add("an index of 10,001 entries", "more than 10000 entries", true, func(s *shelf) desc {
		entries := make([]desc, 10_001)
		one := on("linux/s390x", s.image("linux/s390x"))
		for i := range entries {
			entries[i] = one
		}
		entries[0] = on("linux/amd64", s.image("linux/amd64"))
		return s.index(entries...)
	})
	add("correct embedded data", "", false, func(s *shelf) desc {
		c := s.config(ociConfig, "linux/amd64", 1)
		return s.image("linux/amd64", configured(with(c, func(d *desc) { d.Data = s.blobs[d.Digest] })))
	})
	return all
}

// layerShapes are the layers of one image.
func layerShapes() []shape {
	var all []shape
	add := func(name, refused string, pulls bool, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, pulls: pulls, build: build})
	}
	for mediaType, refused := range map[string]string{
		ocispec.MediaTypeImageLayer: "", ociGzip: "", ocispec.MediaTypeImageLayerZstd: "",
		images.MediaTypeDockerSchema2Layer: "", dockerGzip: "", images.MediaTypeDockerSchema2LayerZstd: "",
		"application/vnd.oci.image.layer.nondistributable.v1.tar":      "",
		"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip": "",
		"application/vnd.oci.image.layer.nondistributable.v1.tar+zstd": "",
		images.MediaTypeDockerSchema2LayerForeign:                      "",
		images.MediaTypeDockerSchema2LayerForeignGzip:                  "",
		images.MediaTypeImageLayerEncrypted:                            "the layer is encrypted",
		images.MediaTypeImageLayerGzipEncrypted:                        "the layer is encrypted",
		"application/vnd.oci.image.layer.v1.tar+zstd+encrypted":        "the layer is encrypted",
		"application/vnd.oci.image.layer.v1.squashfs":                  "cannot unpack this type",
		"application/vnd.example.layer":                                "has 0 layers, but its configuration has 1",
		"application/octet-stream":                                     "has 0 layers, but its configuration has 1",
		"":                                                             "has 0 layers, but its configuration has 1",
	} {
		pulls := strings.Contains(refused, "has 0 layers") // and no layer is unpacked
		add("a layer of type "+cmpOr(mediaType, "nothing"), refused, pulls, func(s *shelf) desc { return s.image("linux/amd64", layers(s.layer(mediaType))) })
		if images.IsNonDistributable(mediaType) {
			add("a layer with URLs of type "+mediaType, "is stored outside of the registry, at https://layers.example/1", false, func(s *shelf) desc {
				return s.image("linux/amd64", layers(with(s.layer(mediaType), func(d *desc) { d.URLs = []string{"https://layers.example/1?signature=x"} })))
			})
			add("a missing layer of type "+mediaType, "404", false, func(s *shelf) desc {
				l := s.layer(mediaType)
				delete(s.blobs, l.Digest)
				return s.image("linux/amd64", layers(l))
			})
		}
	}
	add("a gzip layer with URLs", "is stored outside of the registry", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(with(s.layer(ociGzip), func(d *desc) { d.URLs = []string{"https://layers.example/1"} })))
	})
	add("a layer with unusable URLs", "", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(with(s.layer(ociGzip), func(d *desc) { d.URLs = []string{"ipfs://layers", "%"} })))
	})
	add("an encrypted layer for another platform", "", false, func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), s.image("linux/arm64", layers(s.layer(images.MediaTypeImageLayerEncrypted))))
	})
	add("eStargz", "", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(with(s.layer(ociGzip), func(d *desc) {
			d.Annotations = map[string]string{"containerd.io/snapshot/stargz/toc.digest": "sha256:" + strings.Repeat("0", 64)}
		})))
	})
	add("a duplicate layer", "", false, func(s *shelf) desc {
		l := s.layer(ociGzip)
		return s.image("linux/amd64", layers(l, l), configured(s.config(ociConfig, "linux/amd64", 2)))
	})
	add("no layers", "", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(), configured(s.config(ociConfig, "linux/amd64", 0)))
	})
	add("an empty list of layers", "", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers([]desc{}...), configured(s.config(ociConfig, "linux/amd64", 0)))
	})
	add("more layers than in the configuration", "has 2 layers, but its configuration has 1", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(s.layer(ociGzip), s.layer(ociGzip)))
	})
	add("fewer layers than in the configuration", "has 1 layers, but its configuration has 3", false, func(s *shelf) desc {
		return s.image("linux/amd64", configured(s.config(ociConfig, "linux/amd64", 3)))
	})
	add("127 layers", "", false, func(s *shelf) desc {
		var ls []desc
		for range 127 {
			ls = append(ls, s.layer(ociGzip))
		}
		return s.image("linux/amd64", layers(ls...), configured(s.config(ociConfig, "linux/amd64", 127)))
	})
	return all
}

// artifactShapes are artifacts in registries that are not images.
func artifactShapes() []shape {
	var all []shape
	add := func(name, refused string, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, pulls: true, build: build})
	}
	typed := func(s *shelf, config, artifact string, l ...desc) desc {
		return s.image("", configured(s.bytes(config, []byte("{}"))), func(m *manifestOf) { m.ArtifactType = artifact; m.Layers = l })
	}
	add("a Helm chart", "not an image, but a Helm chart: add it to addons (application/vnd.cncf.helm.config.v1+json)", func(s *shelf) desc {
		return typed(s, "application/vnd.cncf.helm.config.v1+json", "", s.layer("application/vnd.cncf.helm.chart.content.v1.tar+gzip"))
	})
	add("a WebAssembly module", "a WebAssembly module", func(s *shelf) desc {
		return typed(s, "application/vnd.wasm.config.v0+json", "", s.layer("application/wasm"))
	})
	add("an artifact of OCI 1.1", `an artifact of type "application/vnd.oci.empty.v1+json"`, func(s *shelf) desc {
		return typed(s, "application/vnd.oci.empty.v1+json", "application/x.model", s.layer("application/x.weights"))
	})
	add("a signature", "a signature", func(s *shelf) desc {
		return typed(s, "application/vnd.dev.cosign.simplesigning.v1+json", "", s.layer("application/x"))
	})
	add("a Docker plugin", "a Docker plugin", func(s *shelf) desc {
		return typed(s, "application/vnd.docker.plugin.v1+json", "", s.layer(dockerGzip))
	})
	add("a configuration without a type", "an artifact of type", func(s *shelf) desc {
		return typed(s, "", "", s.layer(ociGzip))
	})
	add("octet-stream as the configuration's type", "an artifact of type", func(s *shelf) desc {
		return typed(s, "application/octet-stream", "", s.layer(ociGzip))
	})
	all = append(all, shape{name: "a chart in an index", refused: "not an image, but a Helm chart", build: func(s *shelf) desc {
		return s.index(typed(s, "application/vnd.cncf.helm.config.v1+json", "", s.layer("application/x")))
	}})
	add("an artifact next to the image", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), typed(s, "application/vnd.oci.empty.v1+json", "application/x.sbom", s.layer("application/spdx+json")))
	})
	all = append(all, shape{name: "ORAS's own manifest", refused: "not an image, but an artifact of type \"application/vnd.oci.artifact.manifest.v1+json\"", build: func(s *shelf) desc {
		return s.json(
			"application/vnd.oci.artifact.manifest.v1+json",
			map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.artifact.manifest.v1+json", "artifactType": "application/x", "blobs": []desc{}},
		)
	}})
	return all
}

// brokenShapes are documents that containerd and the registry cannot read.
func brokenShapes() []shape {
	var all []shape
	add := func(name, refused string, pulls bool, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, pulls: pulls, build: build})
	}
	raw := func(mediaType, text string) func(*shelf) desc {
		return func(s *shelf) desc { return s.bytes(mediaType, []byte(text)) }
	}
	schema1 := `{"schemaVersion":1,"name":"x","tag":"1","architecture":"amd64","fsLayers":[{"blobSum":"sha256:` + strings.Repeat("a", 64) + `"}],"history":[],"signatures":[]}`
	for _, t := range []string{images.MediaTypeDockerSchema1Manifest, "application/vnd.docker.distribution.manifest.v1+json", "application/json", dockerManifest} {
		add("Docker schema 1 as "+t, "Docker schema 1", false, raw(t, schema1))
	}
	add("schema 1 in an index", "Docker schema 1", false, func(s *shelf) desc {
		return s.index(on("linux/amd64", s.bytes(dockerManifest, []byte(schema1))))
	})
	add("not JSON", "not a manifest", false, raw(ociManifest, "manifest"))
	add("truncated JSON", "not a manifest", false, raw(ociManifest, `{"schemaVersion":2,"config"`))
	add("data after the JSON", "not a manifest", false, raw(ociManifest, `{"schemaVersion":2} {}`))
	add("a list", "not a manifest", false, raw(ociManifest, `[]`))
	add("an empty object", "schemaVersion 0", false, raw(ociManifest, `{}`))
	add("null", "schemaVersion 0", false, raw(ociManifest, `null`))
	add("no schemaVersion", "the manifest has schemaVersion 0: registries serve only 2", true, func(s *shelf) desc {
		l := s.layer(ociGzip)
		return s.json(ociManifest, map[string]any{"config": s.config(ociConfig, "linux/amd64", 1), "layers": []desc{l}})
	})
	add("both a manifest and an index", "containerd rejects it", false, func(s *shelf) desc {
		return s.json(ociManifest, map[string]any{"schemaVersion": 2, "mediaType": ociManifest, "config": s.config(ociConfig, "linux/amd64", 1), "layers": []desc{}, "manifests": []desc{}})
	})
	add("an index with a configuration", "containerd rejects it", false, func(s *shelf) desc {
		return s.json(ociIndex, map[string]any{"schemaVersion": 2, "mediaType": ociIndex, "config": nil, "manifests": []desc{on("linux/amd64", s.image("linux/amd64"))}})
	})
	add("no configuration", "only sha256 is supported", false, raw(ociManifest, `{"schemaVersion":2,"mediaType":"`+ociManifest+`","layers":[]}`))
	add("a digest of sha512", "only sha256 is supported", true, func(s *shelf) desc {
		l := s.layer(ociGzip)
		d := digest.SHA512.FromBytes(s.blobs[l.Digest])
		s.blobs[d] = s.blobs[l.Digest]
		return s.image("linux/amd64", layers(with(l, func(l *desc) { l.Digest = d })))
	})
	add("a digest that is a path", "only sha256 is supported", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(with(s.layer(ociGzip), func(l *desc) { l.Digest = "sha256:../../etc/passwd" })))
	})
	add("a configuration that is not JSON", "read the image configuration", false, func(s *shelf) desc {
		return s.image("linux/amd64", configured(s.bytes(ociConfig, []byte("<none>"))))
	})
	add("a missing configuration", "404", false, func(s *shelf) desc {
		d := s.image("linux/amd64")
		var m struct{ Config desc }
		_ = json.Unmarshal(s.blobs[d.Digest], &m)
		delete(s.blobs, m.Config.Digest)
		return d
	})
	add("a missing manifest in an index", "does not exist in", false, func(s *shelf) desc {
		d := s.image("linux/amd64")
		delete(s.blobs, d.Digest)
		return s.index(on("linux/amd64", d))
	})
	add("wrong embedded data", "is embedded in its manifest with other bytes", true, func(s *shelf) desc {
		c := s.config(ociConfig, "linux/amd64", 1)
		return s.image("linux/amd64", configured(with(c, func(d *desc) { d.Data = bytes.Repeat([]byte("x"), int(d.Size)) })))
	})
	return all
}
