"""From method, path, query and body to an operation on an object, with refusals in kube-apiserver's words."""
