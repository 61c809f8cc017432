// Reads Kubernetes manifests (YAML documents) from standard input and decodes each into the types of the Kubernetes
// API, strictly: an unknown, misspelt or repeated field or a value of another type is an error. Prints kind and name of
// each.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	if err := check(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(in io.Reader, out io.Writer) error {
	decoder := json.NewSerializerWithOptions(
		json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	documents := yaml.NewYAMLReader(bufio.NewReader(in))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return fmt.Errorf("%w in:\n%s", err, document)
		}
		named, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %s\n", object.GetObjectKind().GroupVersionKind().Kind, named.GetName())
	}
}
