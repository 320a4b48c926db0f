"""What the home whose figures are drawn has: models, and names that are markup where nobody takes care."""

DRAWN_VARIANTS = ("dyrep-bilinear", "ldg_learned_sparse-bilinear")
IN_A_PAGE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)><!--data-->"
IN_A_DRAWING = "</text><script>alert(1)</script>&\"'"
