# Reference values of glmnet (Friedman, Hastie and Tibshirani) on the rows of linear.json; run after linear.py, writes glmnet.json.
#   Rscript glmnet.R        needs the packages glmnet and jsonlite

suppressMessages({
  library(glmnet)
  library(jsonlite)
})
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
rows <- fromJSON(file.path(here, "linear.json"))
x <- matrix(rows$x, ncol = rows$cols, byrow = TRUE)
glmnet.control(fdev = 0, mnlam = 1)

# Columns as they are, and as many digits as there are.
reference <- function(y, family, lambda, alpha, ...) {
  fit <- glmnet(x, y, family = family, lambda = lambda, alpha = alpha, standardize = FALSE, thresh = 1e-22, maxit = 1e8, ...)
  list(coef = as.numeric(fit$beta[, 1]), intercept = as.numeric(fit$a0))
}

out <- list(
  lasso = reference(rows$y, "gaussian", 0.1, 1),
  lasso_weighted = reference(rows$y, "gaussian", 0.1, 1, weights = rows$weights),
  lasso_positive = reference(rows$y, "gaussian", 0.05, 1, lower.limits = 0),
  logistic_l1 = reference(rows$binary, "binomial", 0.05, 1),
  logistic_mixed = reference(rows$binary, "binomial", 0.05, 0.4),
  poisson = reference(rows$counts, "poisson", 0.3, 0)
)
write(toJSON(out, digits = I(17)), file.path(here, "glmnet.json"))
